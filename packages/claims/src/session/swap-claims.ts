import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StartOptions } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { type OpenRoot, openProcessRoot } from "@budgie/sandbox/proc";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import { collect } from "../lab/collect.ts";
import type { Lab } from "../lab/lab.ts";
import { createSwap } from "../lab/swap.ts";
import { requireEngine, type Tampering } from "../lab/target.ts";
import { judgeHidden, judgeRefusal, untried } from "../probe/verdicts.ts";

export const SWAP_CLAIMS: readonly Claim[] = [
  {
    id: "pinned-workspace",
    promise: "An agent gets the directory that was checked, or does not start.",
    protections: ["verified-mounts"],
    isOfEngine: true,
    probes: [
      makeSwapProbe("swap the workspace for a symlink before its turn", swapProject(), ({ swap }) => (swap(), {})),
      makeSwapProbe("swap it between the check and the mount", swapProject(), ({ swap }) => ({ before: swap })),
      makeSwapProbe("swap it when its container is created", swapProject(), ({ swap }) => ({ atCreation: swap })),
      makeSwapProbe("swap it and back once it is mounted", swapProject(), swapAndBack),
      makeSwapProbe("swap a parent folder of it", swapProject("sub"), ({ swap }) => ({ before: swap })),
      makeSwapProbe("swap that one and back", swapProject("sub"), swapAndBack),
      makeSwapProbe(
        "swap it and back while the kernel refuses a look at the mounts",
        swapProject(),
        ({ restore, swap }) => ({
          before: swap,
          openRoot: createRefusedLook(10, restore),
        }),
      ),
      makeSwapProbe(
        "swap it and back where the kernel always refuses a look at the mounts",
        swapProject(),
        (swapping) => ({
          ...swapAndBack(swapping),
          openRoot: createRefusedLook(Infinity),
        }),
      ),
    ],
  },
  {
    id: "swapped-definition",
    promise: "Another agent cannot bring a hidden definition back while a turn's container is created.",
    protections: ["hidden-agents", "verified-mounts"],
    isOfEngine: true,
    probes: [
      makeSwapProbe("create .kiro/agents once it is mounted", swapRepository(".kiro/steering"), ({ swap }) => ({
        after: swap,
      })),
      makeSwapProbe("create .kiro between the check and the mount", swapRepository(), ({ swap }) => ({ before: swap })),
      makeSwapProbe("replace .kiro between the check and the mount", createExchangedScene, ({ swap }) => ({
        before: swap,
      })),
    ],
  },
];

/** Probes that swap protected paths and the folders on the way to them. */
export const PROTECTED_SWAPS: readonly Probe[] = [".git/hooks", ".git"].flatMap((path) => [
  makeSwapProbe(`swap ${path} for a symlink between the check and the mount`, swapProtected(path), ({ swap }) => ({
    before: swap,
  })),
  makeSwapProbe(`swap ${path} and back once it is mounted`, swapProtected(path), swapAndBack),
]);

/** A repository and another agent's changes to it. */
type Scene = Pick<StartOptions, "directory" | "protectedPaths"> & {
  readonly swap: () => void;
  readonly restore: () => void;
  /** Prints what the agent must not see */
  readonly script: string;
  readonly evidence: string;
  /** Defaults to held only if the turn is refused */
  readonly judge?: typeof judgeHidden;
};

/** Creates a probe in which another agent acts while the engine creates and starts a turn's container. */
function makeSwapProbe(
  name: string,
  toScene: (lab: Lab) => Promise<Scene>,
  toTampering: (scene: Scene) => Tampering,
): Probe {
  return {
    name,
    async attempt(lab) {
      const scene = await toScene(lab);
      const target = await requireEngine(lab.target).tamper(toTampering(scene));
      if (target === undefined) return untried("the engine is not on a Unix socket of this machine");
      // The runner may still remove things through it later, when the engine is slow.
      lab.keep(target);
      const session = await lab.open({ target });
      const argv = ["/bin/sh", "-c", `{ ${scene.script}; } 2>/dev/null; echo over`] as const;
      const { directory, protectedPaths } = scene;
      const output = session
        .start({ argv, env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS }, { directory, protectedPaths, input: "" })
        .then(async (child) => (await collect(child)).stdout);
      const verdict = await (scene.judge ?? judgeRefused)(output, scene.evidence);
      await session.remove();
      return verdict;
    },
  };
}

function judgeRefused(attack: Promise<string>, evidence: string): Promise<Verdict> {
  return judgeRefusal(attack, evidence, ["WORKSPACE_INVALID"]);
}

function swapAndBack({ restore, swap }: Scene): Tampering {
  return { before: swap, after: restore };
}

/** Returns a look that succeeds for the session container, and fails `times` times for others, like the kernel for ordinary users. */
function createRefusedLook(times: number, meanwhile: () => void = () => undefined): OpenRoot {
  let sessionContainer: string | undefined;
  let looks = 0;
  return async (pid, id) => {
    if (sessionContainer !== undefined && id !== sessionContainer && looks++ < times) {
      if (looks === 1) meanwhile();
      return undefined;
    }
    const root = await openProcessRoot(pid, id);
    if (root !== undefined) sessionContainer ??= id;
    return root;
  };
}

/** Returns a scene in which the project, or a parent folder of it, is swapped for a folder with the keys. */
function swapProject(folder = "") {
  return async (lab: Lab): Promise<Scene> => {
    const root = await lab.makeDirectory();
    const [path, secrets] = [join(root, "project"), join(root, "secrets")];
    await mkdir(join(path, folder), { recursive: true });
    await putKeys(lab, join(secrets, folder));
    const evidence = lab.host.canaries[".ssh/id_rsa"];
    return { directory: join(path, folder), ...createSwap(path, secrets), script: "cat id_rsa", evidence };
  };
}

/** Returns a scene in which a repository's hooks, or its whole .git folder, become a symlink to the keys. */
function swapProtected(path: string) {
  return async (lab: Lab): Promise<Scene> => {
    const directory = await lab.makeDirectory();
    const secrets = await lab.makeDirectory();
    await mkdir(join(directory, ".git/hooks"), { recursive: true });
    for (const folder of ["", "hooks"]) await putKeys(lab, join(secrets, folder));
    // The engine follows the symlink on the host for a mount's source, and in the container for its target.
    const script = `cat .git/id_rsa .git/hooks/id_rsa ${secrets}/id_rsa ${secrets}/hooks/id_rsa`;
    const evidence = lab.host.canaries[".ssh/id_rsa"];
    return {
      directory,
      protectedPaths: [".git/hooks"],
      ...createSwap(join(directory, path), secrets),
      script,
      evidence,
    };
  };
}

const PLANTED = "a definition that another agent made";

// Without protections, a turn may start before the other agent acts, so the script tries several times.
const DEFINED = {
  script: "for _ in 1 2 3 4 5; do cat .kiro/agents/mine.json && break; sleep 0.2; done",
  evidence: PLANTED,
  judge: judgeHidden,
  restore: () => undefined,
};

/** Returns a scene with a repository without agents, to which another agent adds one. */
function swapRepository(...folders: readonly string[]) {
  return async (lab: Lab): Promise<Scene> => {
    const directory = await lab.makeDirectory();
    for (const folder of folders) await mkdir(join(directory, folder), { recursive: true });
    return { ...DEFINED, directory, swap: () => plant(directory) };
  };
}

/** Returns a scene in which another agent replaces a repository's whole `.kiro`. */
async function createExchangedScene(lab: Lab): Promise<Scene> {
  const [directory, other] = [await lab.makeDirectory(), await lab.makeDirectory()];
  for (const folder of [directory, other]) await mkdir(join(folder, ".kiro/steering"), { recursive: true });
  plant(other);
  const swap = (): void => {
    renameSync(join(directory, ".kiro"), join(directory, "aside"));
    renameSync(join(other, ".kiro"), join(directory, ".kiro"));
  };
  return { ...DEFINED, directory, swap };
}

function plant(directory: string): void {
  mkdirSync(join(directory, ".kiro/agents"), { recursive: true });
  writeFileSync(join(directory, ".kiro/agents/mine.json"), PLANTED);
}

async function putKeys({ host }: Lab, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "id_rsa"), host.canaries[".ssh/id_rsa"]);
}
