import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSessionId } from "@budgie/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWorkspace, readAll, shareContractSession, startScript } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const CANARY = "BUDGIE_CONTRACT_CANARY";
// In UTF-8, these contain every byte that some shells use as internal marks.
const ALPHABET = String.fromCodePoint(...Array.from({ length: 0x780 }, (_, index) => index + 1));

/** Describes what a process gets: environment, working directory, workspace. */
export function describeRunning(setup: RunnerSetup): void {
  describe("running a command", () => {
    const contractSession = shareContractSession(setup);

    beforeAll(() => void (process.env[CANARY] = "a secret of the host"));
    afterAll(() => void delete process.env[CANARY]);

    it("passes the command's environment unchanged", async () => {
      const contract = await contractSession();
      const env = { GREETING: `  two\nlines, 'quotes' "$HOME" ünï \\ \n${ALPHABET}\n`, IFS: "e" };

      const { stdout } = await contract.run('printf %s "$GREETING"', { env });

      expect(stdout.toString()).toBe(env.GREETING);
    });

    it("does not pass the host's environment", async () => {
      const contract = await contractSession();

      const { stdout } = await contract.run("env");

      expect(stdout.toString()).toContain("PATH=");
      expect(stdout.toString()).not.toContain(CANARY);
    });

    it("passes arguments unchanged, without a shell", async () => {
      const contract = await contractSession();
      const { session, directory } = contract;
      const args = ["", "a b", "$HOME", "*", "`id`", "-x", "line\nbreak", ALPHABET];
      const command = { argv: ["printf", "[%s]", ...args] as const, env: {}, projections: [] };

      const { stdout } = await readAll(await session.start(command, { directory, input: "" }));

      expect(stdout.toString()).toBe(args.map((arg) => `[${arg}]`).join(""));
    });

    it(`starts a process in its ${setup.startsIn}`, async () => {
      const contract = await contractSession();

      const { stdout } = await contract.run("pwd -P");

      expect(stdout.toString().trim()).toBe(contract.session.paths(contract.directory)[setup.startsIn]);
    });

    it("gives the agent a writable workspace", async () => {
      const contract = await contractSession();
      await writeFile(join(contract.directory, "given"), "from outside");

      const { stdout } = await contract.run('cat "$2/given"; printf "from inside" > "$2/made"');

      expect(stdout.toString()).toBe("from outside");
      expect(await readFile(join(contract.directory, "made"), "utf8")).toBe("from inside");
    });

    it("runs no process before `ready` resolves", async () => {
      const contract = await contractSession();
      const ready = sleep(1500).then(() => writeFile(join(contract.directory, "given"), "just in time"));

      const { stdout } = await contract.run('cat "$2/given"', { ready });

      expect(stdout.toString()).toBe("just in time");
    });

    it.each(["with spaces", "a:b:ro", "a,b=c", "ünïcödé 鳥", "quote'\"$HOME", "-dash"])(
      "works in a workspace named %j",
      async (name) => {
        const contract = await contractSession();
        const directory = await createWorkspace(dirname(contract.directory), name);

        const { exit } = await contract.run('printf seen > "$2/made"', { directory });

        expect(exit.exitCode).toBe(0);
        expect(await readFile(join(directory, "made"), "utf8")).toBe("seen");
      },
    );

    it("rejects a missing workspace, and one that is a file", async () => {
      const contract = await contractSession();
      const missing = join(contract.directory, "missing");
      const file = join(contract.directory, "file");
      await writeFile(file, "");

      await expect(contract.start("true", { directory: missing })).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
      await expect(contract.start("true", { directory: file })).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("runs several sessions at once with separate output", async () => {
      const contract = await contractSession();
      const { runner, directory } = contract;

      const outputs = await Promise.all(
        ["a", "b", "c"].map(async (name) => {
          const session = await runner.openSession(createSessionId());
          const { stdout } = await readAll(await startScript("sleep 0.2; cat", { session, directory, input: name }));
          return stdout.toString();
        }),
      );

      expect(outputs).toEqual(["a", "b", "c"]);
    });
  });
}
