import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Access } from "@budgie/core/policy";
import { describe, expect, it } from "vitest";
import { shareContractSession } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const ALL: Access = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {} };
const PROTECTIONS: readonly Partial<Access>[] = [
  { workspace: "ro" },
  { egress: { mode: "none", hosts: [] } },
  { limits: { memoryBytes: 2 ** 28 } },
  { limits: { cpus: 1 } },
  { limits: { pids: 100 } },
];

/** Describes access: a runner enforces a protection, or rejects a start that asks for it. */
export function describeAccess(setup: RunnerSetup): void {
  const { widest = ALL } = setup;

  describe("access", () => {
    const contractSession = shareContractSession(setup);

    it("is full if full access is requested", async () => {
      const contract = await contractSession();

      const { exit } = await contract.run('touch "$2/made"', { access: widest });

      expect(exit.exitCode).toBe(0);
      expect(existsSync(join(contract.directory, "made"))).toBe(true);
    });

    it.each(PROTECTIONS)("is limited by %j, or the start is rejected", async (protection) => {
      const contract = await contractSession();
      const starting = contract.run('touch "$2/made"', { access: { ...widest, ...protection } });

      if (contract.runner.isolation === "none") {
        await expect(starting).rejects.toMatchObject({ code: "INPUT_INVALID" });
        expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
        expect(existsSync(join(contract.directory, "made"))).toBe(false);
      } else {
        expect((await starting).exit.exitCode === 0).toBe(protection.workspace !== "ro");
        expect(existsSync(join(contract.directory, "made"))).toBe(protection.workspace !== "ro");
      }
    });
  });
}
