import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKAGES, readSources } from "./helpers/read-sources.ts";

const LIBRARIES = ["core", "egress", "protocols", "store", "sandbox", "runner-local", "runner-docker"];

// Flags of programs that a library starts, or tells the user to start
const OF_PROGRAMS = {
  "core/src/git/add-commit-trailer.ts": ["--git-path", "--if-exists", "--in-place", "--no-divider", "--trailer"],
  "protocols/src/kiro/help/inspect-kiro.ts": ["--help", "--version"],
  "protocols/src/kiro/help/parse-kiro-help.ts": ["--agent-engine", "--v"],
  "protocols/src/kiro/build-kiro-command.ts": [
    "--agent",
    "--agent-engine",
    "--auth-method",
    "--model",
    "--no-interactive",
    "--resume",
    "--trust-all-tools",
    "--v",
  ],
  // "budgie build-image --tag"
  "runner-docker/src/image/find-agent-program.ts": ["--tag"],
  "runner-docker/src/session/to-commits-place.ts": [
    "--all",
    "--format",
    "--git-dir",
    "--ignore-missing",
    "--not",
    "--quiet",
    "--stdin",
  ],
  "runner-docker/src/ssh/to-ssh-command.ts": ["--host"],
  // of a Dockerfile's COPY
  "sandbox/src/images/list-bases.ts": ["--from"],
  "sandbox/src/init/build-git-setup.ts": ["--bare", "--quiet", "--skip-worktree", "--stdin", "--template", "--verify"],
  "sandbox/src/login/copy-session-database.ts": ["--max-old-space-size", "--no-warnings"],
  "sandbox/src/proc/measure-folder.ts": ["--exclude"],
  "store/src/database/sqlite.ts": ["--ignore-scripts", "--include", "--prefix"],
};

// The command line replaces the names of options (with-flags.ts), and other programs have no flags.
it("the libraries name no flag of budgie", () => {
  const found = LIBRARIES.flatMap((name) => [...readSources(join(PACKAGES, name, "src"))].map(listFlags(name)));

  expect(Object.fromEntries(found.filter(([, flags]) => flags.length > 0))).toEqual(OF_PROGRAMS);
});

const COMMENT = /^\s*(?:\/?\*|\/\/).*$/gm;
const LITERAL = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)*'/g;

function listFlags(library: string) {
  return ([file, text]: readonly [string, string]): readonly [string, readonly string[]] => {
    const literals = text.replaceAll(COMMENT, "").match(LITERAL) ?? [];
    return [`${library}/src/${file}`, [...new Set(literals.join("\n").match(/--[a-z][a-z-]*/g))].toSorted()];
  };
}
