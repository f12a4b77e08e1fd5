import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, existsSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, type Reply } from "@budgie/core";
import type { Claim, Probe } from "../probe/claim.ts";
import type { Lab, WriterOptions } from "../lab/lab.ts";
import { held, through, untried } from "../probe/verdicts.ts";

/** Claims about what a result reports of its turn's directory. */
export const CHANGE_CLAIMS: readonly Claim[] = [
  {
    id: "no-outside-names",
    promise:
      "A result never contains the name or content of a file outside the directory, except from a git folder that itself names the directory.",
    protections: ["held-folders"],
    probes: [
      makeOutsideProbe("name a folder of the home in a .git file", ({ home }) => ({
        script: `echo 'gitdir: ${home}' >.git`,
      })),
      makeOutsideProbe("have the repository's .git file name it", async ({ directory, hook, home }) => {
        await writeFile(join(directory, ".git"), `gitdir: ${home}\n`);
        await mkdir(join(directory, "folder"));
        // The user changes that folder during the turn.
        return { script: ":", beforeOpening: () => appendFileSync(hook, "#") };
      }),
      makeOutsideProbe("replace .git with a symlink to it", ({ home }) => ({ script: `ln -s '${home}' .git` })),
      makeOutsideProbe("have git take its hooks by commondir", ({ home }) => ({
        script: `mkdir .git && echo '${home}' >.git/commondir`,
      })),
      makeOutsideProbe("have git include its configuration", ({ home }) => ({
        script: `mkdir .git && printf '[include]\\n\\tpath = ${home}/config\\n' >.git/config`,
      })),
      makeOutsideProbe("reach it by a chain of symlinks", ({ home }) => ({
        script: `ln -s '${home}' 0; for i in $(seq 30); do ln -s $((i - 1)) $i; done; ln -s 30 .vscode`,
      })),
      makeOutsideProbe("swap a folder for a symlink to it while budgie reads", async ({ directory, home }) => {
        const folder = join(directory, "folder");
        await mkdir(folder);
        return { script: ":", beforeOpening: exchangeAtSecond(folder, home) };
      }),
    ],
  },
  {
    id: "reported-changes",
    promise: "A result lists what a turn left in its directory that host programs would execute or follow.",
    protections: ["reported-changes"],
    probes: [
      makeChangeProbe("have git take its hooks from another folder", {
        script: "mkdir -p .git/objects .git/refs && echo ../other >.git/commondir",
        reported: ".git/commondir",
      }),
      makeChangeProbe("replace .git with another repository", {
        script: "echo 'gitdir: other' >.git",
        reported: ".git",
      }),
      makeChangeProbe("hide a hook below a folder whose name is not UTF-8", {
        script: `odd="$(printf 'odd\\377')"; mkdir -p "$odd/.husky" && echo evil >"$odd/.husky/pre-push"`,
        reported: "odd\uFFFD/.husky/pre-push",
      }),
      makeChangeProbe("hide a repository in node_modules", {
        script: `new=node_modules/new/.git; mkdir -p $new/objects $new/refs && echo 'ref: x' >$new/HEAD && echo evil >$new/config`,
        reported: "node_modules/new/.git/config",
      }),
      makeChangeProbe("leave a symlink to a path outside", { script: "ln -s ../../.ssh link", reported: "link" }),
      makeChangeProbe("leave a symlink to a path outside by way of another symlink", {
        script: "ln -s .. up; ln -s up/x link",
        reported: "link",
      }),
      // The agent's own chmod is refused, so the host makes the file setuid.
      makeChangeProbe("have the host make one of its files setuid", {
        script: ": >program; until [ -u program ]; do sleep 0.1; done",
        reported: "program",
        meanwhile: (directory) => chmodSync(join(directory, "program"), 0o4755),
        once: "program",
      }),
      // A turn without an answer has failed.
      makeChangeProbe("leave a file in a turn that fails", { script: "echo evil >.envrc; exit", reported: ".envrc" }),
    ],
  },
];

type Scene = {
  readonly directory: string;
  /** A folder of the user's that git would accept as a repository */
  readonly home: string;
  /** A file in that folder */
  readonly hook: string;
};

type Attack = WriterOptions & { readonly script: string };

/** Creates a probe that points budgie at files of the home whose names and contents have a secret word. */
function makeOutsideProbe(name: string, toAttack: (scene: Scene) => Attack | Promise<Attack>): Probe {
  return {
    name,
    async attempt(lab) {
      const word = `canary-${randomUUID()}`;
      const [directory, home] = [await lab.makeDirectory(), await makeRepository(lab, word)];
      const { script, ...options } = await toAttack({ directory, home, hook: join(home, "hooks", word) });
      const said = await ask(lab, { directory, script, ...options });
      if (!said.response.endsWith("over\n")) return untried(`its script failed: ${said.response}`);
      return JSON.stringify(said).includes(word)
        ? through("the result has the name or content of a file of the home")
        : held(`the result has ${said.changedExecutablePaths.length} paths of the directory and none of the home`);
    },
  };
}

async function makeRepository({ host }: Lab, word: string): Promise<string> {
  const home = await mkdtemp(join(host.path, "private-"));
  for (const folder of ["hooks", "objects", "refs"]) await mkdir(join(home, folder));
  await writeFile(join(home, "HEAD"), "ref: refs/heads/main\n");
  await writeFile(join(home, "hooks", word), "private");
  await writeFile(join(home, "config"), `[core]\n\thooksPath = ${word}\n`);
  await writeFile(join(home, ".envrc"), "private");
  return home;
}

/** Returns a callback that swaps the folder when it is opened for the second time, which is after the turn. */
function exchangeAtSecond(folder: string, target: string): (name: string) => void {
  let times = 0;
  return (name) => {
    if (name !== "folder" || ++times !== 2) return;
    rmSync(folder, { recursive: true });
    symlinkSync(target, folder);
  };
}

type Change = {
  readonly script: string;
  /** The path that the result must name */
  readonly reported: string;
  /** A file of the script's, at whose creation the host calls `meanwhile` */
  readonly once?: string;
  readonly meanwhile?: (directory: string) => void;
};

function makeChangeProbe(name: string, { meanwhile, once, script, reported }: Change): Probe {
  return {
    name,
    async attempt(lab) {
      const directory = await lab.makeDirectory();
      const asking = ask(lab, { directory, script });
      if (once !== undefined) {
        await appearance(join(directory, once), asking);
        meanwhile?.(directory);
      }
      const { changedExecutablePaths, warnings } = await asking;
      const named = warnings.find((text) => text.includes(`"${reported}"`));
      if (named !== undefined) return held(named);
      return changedExecutablePaths.includes(reported)
        ? held(`"${reported}" was reported`)
        : through("it was not reported");
    },
  };
}

async function appearance(path: string, turn: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = (): void => void (isOver = true);
  turn.then(end, end);
  while (!isOver && !existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 50));
}

type Said = Pick<Reply, "changedExecutablePaths" | "response" | "warnings">;

type Asking = Attack & { readonly directory: string };

/** Calls an agent, and returns the report of a failed turn too. */
async function ask(lab: Lab, { directory, script, ...options }: Asking): Promise<Said> {
  const call = lab.callWriter(options);
  try {
    return await call({ agent: "writer", prompt: `{ ${script}; } && echo over`, directory });
  } catch (error) {
    if (!(error instanceof BudgieError) || error.code !== "AGENT_FAILED") throw error;
    const { changedExecutablePaths = [], warnings = [] } = error.report;
    return { changedExecutablePaths, response: error.message, warnings };
  }
}
