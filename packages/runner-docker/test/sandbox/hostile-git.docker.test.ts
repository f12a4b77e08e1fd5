import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDockerPlace } from "../helpers/docker-place.ts";
import { allowCommits, createGitPlace, onHost, openGitAgent, type GitAgent, type GitPlace } from "./git-place.ts";

const docker = createDockerPlace();
let agent: GitAgent;
let git: GitPlace;
let mark: string;
let count = 0;
beforeAll(async () => void (agent = await openGitAgent(docker)));
beforeEach(async () => {
  const root = join(docker.root, `attack-${++count}`);
  git = createGitPlace(root);
  mark = join(root, "taken-over");
  // A user may have set this. It makes git read a file that an agent writes.
  onHost(git.main, "config", "extensions.worktreeConfig", "true");
  for (const name of ["tree", "other"]) writeFileSync(join(git.main, ".git/worktrees", name, "config.worktree"), "");
  await allowCommits(git.submodule);
});
afterAll(() => docker[Symbol.asyncDispose]());

type Attack = {
  readonly name: string;
  readonly in: "worktree" | "submodule";
  /** The script of an agent, with the paths of the host: of its own and the shared git folder, of a copy of it, and of the mark */
  readonly script: string;
};

const MONITOR = `printf '[core]\\n\\tfsmonitor = "touch %s; false"\\n' "$MARK"`;
const HOOK = `printf '#!/bin/sh\\ntouch %s\\n' "$MARK" >"$SHARED/hooks/post-index-change"; chmod +x "$SHARED/hooks/post-index-change"`;
// A repository of the agent's own in the workspace, which runs something at each status.
const COPY = `cp -r "$SHARED/." evil/; rm -f evil/commondir; git config -f evil/config --unset core.worktree; ${MONITOR} >>evil/config`;

const ATTACKS: readonly Attack[] = [
  {
    name: "points .git to a repository of its own",
    in: "worktree",
    script: `${COPY}; echo "gitdir: $EVIL/worktrees/tree" >.git`,
  },
  {
    name: "puts another file in the place of .git",
    in: "worktree",
    script: `${COPY}; rm -f .git; mv .git was; echo "gitdir: $EVIL/worktrees/tree" >new && mv new .git`,
  },
  {
    name: "puts a repository of its own in the place of .git",
    in: "worktree",
    script: `${COPY}; rm -f evil/worktrees/*/commondir; rm -f .git && mv evil .git`,
  },
  { name: "writes commondir", in: "worktree", script: `${COPY}; echo "$EVIL" >"$OWN/commondir"` },
  {
    name: "replaces commondir",
    in: "worktree",
    script: `${COPY}; echo "$EVIL" >"$OWN/new"; mv -f "$OWN/new" "$OWN/commondir"`,
  },
  { name: "writes the shared configuration", in: "worktree", script: `${MONITOR} >>"$SHARED/config"` },
  {
    name: "has git write the shared configuration",
    in: "worktree",
    script: `git config core.fsmonitor "touch $MARK; false"`,
  },
  { name: "writes the worktree's configuration", in: "worktree", script: `${MONITOR} >>"$OWN/config.worktree"` },
  {
    name: "writes the main worktree's configuration",
    in: "worktree",
    script: `${MONITOR} >>"$SHARED/config.worktree"`,
  },
  {
    name: "writes another worktree's configuration",
    in: "worktree",
    script: `${MONITOR} >>"$SHARED/worktrees/other/config.worktree"`,
  },
  {
    name: "redirects another worktree",
    in: "worktree",
    script: `${COPY}; echo "$EVIL" >"$SHARED/worktrees/other/commondir"`,
  },
  { name: "redirects the main worktree", in: "worktree", script: `${COPY}; echo "$EVIL" >"$SHARED/commondir"` },
  { name: "writes a hook", in: "worktree", script: HOOK },
  {
    name: "replaces the folder of the hooks",
    in: "worktree",
    script: `mv "$SHARED/hooks" "$SHARED/was"; mkdir "$SHARED/hooks"; ${HOOK}`,
  },
  { name: "writes a submodule's configuration", in: "worktree", script: `${MONITOR} >>"$SHARED/modules/lib/config"` },
  { name: "points .git to a repository of its own", in: "submodule", script: `${COPY}; echo "gitdir: $EVIL" >.git` },
  { name: "writes commondir", in: "submodule", script: `${COPY}; echo "$EVIL" >"$OWN/commondir"` },
  {
    name: "replaces commondir",
    in: "submodule",
    script: `${COPY}; rm -f "$OWN/commondir"; echo "$EVIL" >"$OWN/new"; mv -f "$OWN/new" "$OWN/commondir"`,
  },
  { name: "writes the configuration", in: "submodule", script: `${MONITOR} >>"$SHARED/config"` },
  {
    name: "replaces the configuration",
    in: "submodule",
    script: `(cat "$SHARED/config"; ${MONITOR}) >"$SHARED/new"; mv -f "$SHARED/new" "$SHARED/config"`,
  },
  { name: "writes a hook", in: "submodule", script: HOOK },
  {
    name: "replaces the folder of the hooks",
    in: "submodule",
    script: `mv "$SHARED/hooks" "$SHARED/was"; mkdir "$SHARED/hooks"; ${HOOK}`,
  },
];

/** Returns a script of an attack with its paths. */
function fill({ in: kind, script }: Attack): string {
  const shared = join(git.main, kind === "worktree" ? ".git" : ".git/modules/lib");
  const own = kind === "worktree" ? join(shared, "worktrees/tree") : shared;
  const paths = { SHARED: shared, OWN: own, EVIL: join(git[kind], "evil"), MARK: mark };
  return `${Object.entries(paths)
    .map(([name, path]) => `${name}=${path}`)
    .join("; ")}; mkdir evil; ${script}; true`;
}

/** Looks at all repositories, as the user would at a terminal. Returns true if that ran what the attack left. */
function isTakenOver(): boolean {
  for (const directory of [git.worktree, git.other, git.submodule, git.main]) {
    // The index is written again, at which git runs a hook.
    appendFileSync(join(directory, "a.txt"), "");
    execFileSync("touch", [join(directory, "a.txt")]);
    try {
      onHost(directory, "status");
    } catch {
      // A repository that an attack broke.
    }
  }
  return existsSync(mark);
}

describe("nothing runs when the user types git status after an agent", () => {
  it.each(ATTACKS)("in a $in $name", async (attack) => {
    const ran = await agent(git[attack.in], fill(attack));

    expect(isTakenOver(), ran.stderr).toBe(false);
    // The next turn has the git that it had.
    expect(await agent(git[attack.in], "git log -1 --format=%s")).toMatchObject({ exit: { exitCode: 0 } });
  });

  it.each(ATTACKS)("in a $in $name: it would without the protection", (attack) => {
    execFileSync("sh", ["-c", fill(attack)], { cwd: git[attack.in], stdio: "pipe" });

    expect(isTakenOver()).toBe(true);
  });
});

describe("an agent in a worktree", () => {
  const KEPT =
    "config hooks info HEAD index description config.worktree packed-refs modules worktrees/other objects/info worktrees/tree/commondir worktrees/tree/gitdir worktrees/tree/config.worktree";

  it("removes and changes nothing in the shared folder but objects, branches and its own state", async () => {
    writeFileSync(join(git.main, ".git/packed-refs"), "# pack-refs with: peeled fully-peeled sorted \n");
    writeFileSync(join(git.main, ".git/config.worktree"), "");
    const folder = join(git.main, ".git");
    const list = () =>
      execFileSync(
        "sh",
        ["-c", `find ${KEPT} -type f | sort | xargs sha256sum; find ${KEPT} -printf '%p %m\\n' | sort`],
        { cwd: folder, encoding: "utf8" },
      );
    const before = list();

    await agent(
      git.worktree,
      `cd ${folder}; for name in ${KEPT}; do echo x >>$name; chmod 777 $name; touch $name/new; mv $name $name-was; rm -rf $name; done;
       echo /tmp >objects/info/alternates; echo '* filter=x' >info/attributes; mkdir new worktrees/new; ln -s / link; touch refs/heads.new`,
    );

    expect(list()).toBe(before);
    expect(
      ["new", "worktrees/new", "link", "objects/info/alternates"].filter((name) => existsSync(join(folder, name))),
    ).toEqual([]);
    // It did write where it may.
    rmSync(join(folder, "refs/heads.new"));
  });
});
