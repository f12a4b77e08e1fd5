import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunnerSetup } from "./runner-setup.ts";

const CANARY = "BUDGIE_CONTRACT_PRINT_CANARY";

/** Describes programs that only print: they need no session. */
export function describePrinting(setup: RunnerSetup): void {
  describe("printing", () => {
    beforeAll(() => void (process.env[CANARY] = "a secret of the host"));
    afterAll(() => void delete process.env[CANARY]);

    it("returns a program's stdout, with its arguments unchanged and without a session", async () => {
      await using under = await setup.create();

      expect(await under.runner.print(["printf", "[%s]", "a b", "$HOME", ""])).toBe("[a b][$HOME][]");
      const sessions = await under.runner.listSessions();
      expect(sessions.filter(({ owner }) => owner === "own")).toEqual([]);
    });

    it("returns what a failing program printed, and neither its stderr nor the host's environment", async () => {
      await using under = await setup.create();
      const printed = await under.runner.print(["/bin/sh", "-c", "echo out; env; echo err >&2; exit 3"]);

      expect(printed).toMatch(/^out\n[^]*^PATH=/m);
      expect(printed).not.toMatch(/^err$/m);
      expect(printed).not.toContain(CANARY);
    });

    it("keeps the beginning and the end of a long output", async () => {
      await using under = await setup.create();
      const script = "echo first; head -c 2000000 /dev/zero | tr '\\0' x; echo; echo last";
      const printed = await under.runner.print(["/bin/sh", "-c", script]);

      expect(printed).toMatch(/^first\n[^]*\nlast\n$/);
      expect(printed.length).toBeLessThan(300_000);
    });

    it("returns nothing for a program that does not exist", async () => {
      await using under = await setup.create();

      expect(await under.runner.print(["/nowhere/program"])).toBe("");
    });

    it("ends with its runner", async () => {
      await using under = await setup.create();
      const printing = under.runner.print(["sleep", "600"]);
      const failed = expect(printing).rejects.toMatchObject({ code: "CANCELLED" });
      await under.runner.close();

      await failed;
    });
  });
}
