import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSessionId, type EgressMode } from "@budgie/core";
import { CLAIM_GROUPS, prove, type ClaimResult } from "@budgie/claims";
import { createDockerTarget } from "@budgie/claims/docker";
import { createDockerPlace, runCommand } from "../../runner-docker/test/helpers/docker-place.ts";
import { isMoot } from "../src/probe/verdicts.ts";
import { ENGINE, OPTIONS } from "./helpers/describe-claims.ts";
import { ON_EACH_ENGINE } from "./helpers/on-each-engine.ts";

const RUNTIME = "runsc";
const SECURITY = join(import.meta.dirname, "../../../docs/security.md");

// Without an allow-list there is no proxy and no MCP server to attack.
const { proxy: _, servers: __, ...GROUPS } = CLAIM_GROUPS;

describe("gVisor", () => {
  it(
    "holds all claims that an engine could break and that need no proxy, but those that docs/security.md names",
    { timeout: 900_000 },
    async () => {
      const claims = Object.values(GROUPS)
        .flat()
        .filter((claim) => ON_EACH_ENGINE.includes(claim));
      const results = await prove({ ...OPTIONS, target: createDockerTarget({ ...ENGINE, runtime: RUNTIME }), claims });

      // gVisor has no cgroup to bound, and other work on the machine may keep a sandbox from its processors.
      const isHeld = ({ id, probes }: ClaimResult) =>
        id !== "bounded-cpu" && probes.every(({ verdict }) => verdict.outcome === "held" || isMoot(verdict));
      const notHeld = results.filter((result) => !isHeld(result)).map(({ id }) => id);
      expect(readFileSync(SECURITY, "utf8")).toContain(
        `| gVisor 20240729 | \`seccomp\`, the proxy | ${toList(notHeld)} |`,
      );
    },
  );

  it("takes turns without a network, and refuses an allow-list by name", { timeout: 120_000 }, async () => {
    await using place = createDockerPlace();
    const { runner } = await place.createRunner({ runtime: RUNTIME });
    const session = await runner.openSession(createSessionId());
    const runWith = (mode: EgressMode) =>
      runCommand(
        session,
        { argv: ["dmesg"], env: {}, projections: [] },
        { directory: place.workspace, access: { workspace: "rw", egress: { mode, hosts: [] }, limits: {} } },
      );

    expect((await runWith("none")).stdout).toContain("Starting gVisor");

    await expect(runWith("allowlist")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('With the runtime "runsc", no program in a sandbox reaches the egress proxy'),
    });
  });

  it(
    "costs less than a tenfold of the engine's own runtime, for a program that does nothing",
    { timeout: 300_000 },
    async () => {
      await using place = createDockerPlace();
      const times: Record<"engine" | "gvisor", number[]> = { engine: [], gvisor: [] };
      const runners = {
        engine: (await place.createRunner({})).runner,
        gvisor: (await place.createRunner({ runtime: RUNTIME })).runner,
      };
      for (let round = 0; round < 8; round++) {
        for (const name of ["engine", "gvisor"] as const) {
          const session = await runners[name].openSession(createSessionId());
          const began = performance.now();
          await runCommand(
            session,
            { argv: ["true"], env: {}, projections: [] },
            {
              directory: place.workspace,
              access: { workspace: "rw", egress: { mode: "none", hosts: [] }, limits: {} },
            },
          );
          times[name].push(performance.now() - began);
          await session.remove();
        }
      }
      const ratios = times.gvisor.map((time, round) => time / (times.engine[round] ?? 1)).toSorted((a, b) => a - b);
      const [least, median, most] = [ratios[1], ratios[4], ratios[6]].map((ratio = Number.NaN) => ratio.toFixed(1));
      console.log(`A first turn of "true" takes ${median} x on gVisor (${least} to ${most}, 8 pairs).`);
      expect(Number(median)).toBeLessThan(10);
    },
  );
});

function toList(ids: readonly string[]): string {
  return ids.map((id) => `\`${id}\``).join(", ");
}
