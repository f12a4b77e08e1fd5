import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, existsSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, type Reply } from "@budgie/core";
import type { Claim, Probe } from "../probe/claim.ts";
import type { Lab, WriterOptions } from "../lab/lab.ts";
import { held, through, untried } from "../probe/verdicts.ts";

/** What a result says of the directory that a turn worked in. */
export const CHANGE_CLAIMS: readonly Claim[] = [
  {
    id: "no-outside-names",
    promise:
      "No name or content of a file outside of the directory comes into a result, but of a git folder that names it in turn.",
    protections: ["held-folders"],
    probes: [
      toOutsideProbe("name a folder of the home in .git", ({ home }) => ({ script: `echo 'gitdir: ${home}' >.git` })),
      toOutsideProbe("have it named in .git by the repository", async ({ directory, hook, home }) => {
        await writeFile(join(directory, ".git"), `gitdir: ${home}\n`);
        await mkdir(join(directory, "folder"));
        // Its user works there meanwhile.
        return { script: ":", beforeOpening: () => appendFileSync(hook, "#") };
      }),
      toOutsideProbe("lead .git to it by a link", ({ home }) => ({ script: `ln -s '${home}' .git` })),
      toOutsideProbe("have git take its hooks by commondir", ({ home }) => ({
        script: `mkdir .git && echo '${home}' >.git/commondir`,
      })),
      toOutsideProbe("have git include its configuration", ({ home }) => ({
        script: `mkdir .git && printf '[include]\\n\\tpath = ${home}/config\\n' >.git/config`,
      })),
      toOutsideProbe("lead to it by a chain of links", ({ home }) => ({
        script: `ln -s '${home}' 0; for i in $(seq 30); do ln -s $((i - 1)) $i; done; ln -s 30 .vscode`,
      })),
      toOutsideProbe("exchange a folder for a link to it while budgie looks", async ({ directory, home }) => {
        const folder = join(directory, "folder");
        await mkdir(folder);
        return { script: ":", beforeOpening: exchangeAtSecond(folder, home) };
      }),
    ],
  },
  {
    id: "reported-changes",
    promise: "A result says what a turn left in its directory for the host's programs to run or to follow.",
    protections: ["reported-changes"],
    probes: [
      toChangeProbe("have git take its hooks from another folder", {
        script: "mkdir -p .git/objects .git/refs && echo ../other >.git/commondir",
        told: ".git/commondir",
      }),
      toChangeProbe("put another repository in place of .git", {
        script: "echo 'gitdir: other' >.git",
        told: ".git",
      }),
      toChangeProbe("hide a hook below a folder whose name is no text", {
        script: `odd="$(printf 'odd\\377')"; mkdir -p "$odd/.husky" && echo evil >"$odd/.husky/pre-push"`,
        told: "odd\uFFFD/.husky/pre-push",
      }),
      toChangeProbe("hide a repository in node_modules", {
        script: `new=node_modules/new/.git; mkdir -p $new/objects $new/refs && echo 'ref: x' >$new/HEAD && echo evil >$new/config`,
        told: "node_modules/new/.git/config",
      }),
      toChangeProbe("leave a link that leads out", { script: "ln -s ../../.ssh link", told: "link" }),
      toChangeProbe("leave one that leads out by another", { script: "ln -s .. up; ln -s up/x link", told: "link" }),
      // Its own chmod is refused, so another program makes it setuid.
      toChangeProbe("have a file of its own made setuid", {
        script: ": >program; until [ -u program ]; do sleep 0.1; done",
        told: "program",
        meanwhile: (directory) => chmodSync(join(directory, "program"), 0o4755),
        once: "program",
      }),
      // An agent that says nothing has failed.
      toChangeProbe("let its turn fail once it left something", { script: "echo evil >.envrc; exit", told: ".envrc" }),
    ],
  },
];

type Scene = {
  readonly directory: string;
  /** A folder of the user's, which git would take for a repository's */
  readonly home: string;
  /** A file in it */
  readonly hook: string;
};

type Attack = WriterOptions & { readonly script: string };

/** Leads budgie to files of the home that have a word in their names and in what is in them. */
function toOutsideProbe(name: string, toAttack: (scene: Scene) => Attack | Promise<Attack>): Probe {
  return {
    name,
    async attempt(lab) {
      const word = `canary-${randomUUID()}`;
      const [directory, home] = [await lab.makeDirectory(), await makeRepository(lab, word)];
      const { script, ...options } = await toAttack({ directory, home, hook: join(home, "hooks", word) });
      const said = await ask(lab, { directory, script, ...options });
      if (!said.response.endsWith("over\n")) return untried(`its script failed: ${said.response}`);
      return JSON.stringify(said).includes(word)
        ? through("the result has the name or the content of a file of the home")
        : held(`the result has ${said.changedExecutablePaths.length} paths of the directory, and none of the home's`);
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

/** After the turn, not before it. */
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
  readonly told: string;
  /** Done by the host while the script runs, when it has made this file */
  readonly once?: string;
  readonly meanwhile?: (directory: string) => void;
};

function toChangeProbe(name: string, { meanwhile, once, script, told }: Change): Probe {
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
      const named = warnings.find((text) => text.includes(`"${told}"`));
      if (named !== undefined) return held(named);
      return changedExecutablePaths.includes(told) ? held(`"${told}" was changed`) : through("nobody was told");
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

/** Calls an agent, whose turn may fail. */
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
