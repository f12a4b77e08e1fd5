import { renameSync, symlinkSync, unlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Claim, Probe } from "./claim.ts";
import { collect, type Lab } from "./lab.ts";
import { createMeddlingEngine, type Meddling } from "./meddling-engine.ts";
import { toRefusal, untried } from "./verdicts.ts";

export const SWAP_CLAIMS: readonly Claim[] = [
  {
    id: "pinned-workspace",
    promise: "An agent gets the directory that was checked, or does not begin.",
    walls: ["pinned-workspace"],
    probes: [
      toSwapProbe("swap the workspace for a link before its turn", ({ swap }) => (swap(), {})),
      toSwapProbe("swap it between the check and the mount", ({ swap }) => ({ before: swap })),
      toSwapProbe("swap it, and back once it is mounted", ({ restore, swap }) => ({ before: swap, after: restore })),
      toSwapProbe("swap a folder on the way to it", ({ swap }) => ({ before: swap }), "sub"),
      toSwapProbe("swap that one, and back", ({ restore, swap }) => ({ before: swap, after: restore }), "sub"),
    ],
  },
];

type Swapping = { readonly swap: () => void; readonly restore: () => void };

/** Swaps a project's folder for a link to the keys, around the moment at which the engine starts the container. */
function toSwapProbe(name: string, toMeddling: (swapping: Swapping) => Partial<Meddling>, folder = ""): Probe {
  return {
    name,
    async attempt(lab) {
      const { directory, ...swapping } = await createProject(lab, folder);
      const engine = await createMeddlingEngine(lab.engine);
      if (engine === undefined) return untried("the engine is on no socket of this machine");
      await using _ = engine;
      const session = await lab.open({ hostEnv: engine.hostEnv });
      engine.meddle({ before: () => undefined, after: () => undefined, ...toMeddling(swapping) });
      const command = { argv: ["/bin/sh", "-c", "cat id_rsa"] as const, env: {}, projections: [] };
      const output = session
        .start(command, { directory, input: "" })
        .then(async (child) => (await collect(child)).stdout);
      const verdict = await toRefusal(output, lab.host.canaries[".ssh/id_rsa"], ["WORKSPACE_INVALID"]);
      // While its engine can be reached.
      await session.remove();
      return verdict;
    },
  };
}

/** What takes the place of the project is a folder with the keys in it, or with a folder that is a link to them. */
async function createProject(lab: Lab, folder: string) {
  const root = await lab.makeDirectory();
  const [path, aside, secrets] = [join(root, "project"), join(root, "aside"), join(root, "secrets", folder)];
  await mkdir(join(path, folder), { recursive: true });
  await mkdir(secrets, { recursive: true });
  await writeFile(join(secrets, "id_rsa"), lab.host.canaries[".ssh/id_rsa"]);
  return {
    directory: join(path, folder),
    swap() {
      renameSync(path, aside);
      symlinkSync(join(root, "secrets"), path);
    },
    restore() {
      unlinkSync(path);
      renameSync(aside, path);
    },
  };
}
