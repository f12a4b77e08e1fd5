import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLabServers } from "../../src/lab/lab-servers.ts";
import type { Lab } from "../../src/lab/lab.ts";
import { held, isMoot } from "../../src/probe/verdicts.ts";
import { attempt } from "../../src/prove.ts";

type Dependencies = Parameters<typeof createLabServers>[0];

/** Creates parts whose agents' turns last until they are aborted. */
function toParts({ serve, signal }: { readonly serve?: () => string; readonly signal?: AbortSignal }): Dependencies {
  const path = mkdtempSync(join(tmpdir(), "budgie-lab-servers-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const host = { path, agentsDir: join(path, "agents"), stateDir: join(path, "state") } as Dependencies["host"];
  for (const folder of [host.agentsDir, host.stateDir]) mkdirSync(folder);
  return {
    host,
    signal,
    network: { webPort: 80 } as Dependencies["network"],
    runner: { openSession: async () => ({ serve }) } as unknown as Dependencies["runner"],
    serveAgents: () => (turn) =>
      new Promise((_, reject) => turn.signal?.addEventListener("abort", () => reject(new Error("aborted")))),
    keep: (made) => onTestFinished(() => made[Symbol.asyncDispose]()),
  };
}

it("leaves nothing to attack where a sandbox cannot reach budgie", async () => {
  const verdict = await attempt({} as Lab, {
    name: "attack",
    attempt: async () => createLabServers(toParts({})).then(() => held("")),
  });

  expect(isMoot(verdict), verdict.detail).toBe(true);
});

it("runs no agent on once the proof is aborted", async () => {
  const proof = new AbortController();
  const { attacker } = await createLabServers(toParts({ serve: () => "", signal: proof.signal }));

  const running = attacker.run(["/bin/true"]);
  proof.abort();

  await expect(running).rejects.toThrow("aborted");
});
