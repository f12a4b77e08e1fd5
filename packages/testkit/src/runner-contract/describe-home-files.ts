import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HomeFile } from "@budgie/core";
import { describe, expect, it } from "vitest";
import {
  createWorkspace,
  openContractSession,
  readAll,
  shareContractSession,
  startScript,
} from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const TEXT: HomeFile = { path: ".agent/etc/settings.toml", content: 'model = "ünï"\n' };

/** Describes the files that a command brings for its home: a sandbox gets them, and a runner without a sandbox ignores them. */
export function describeHomeFiles(setup: RunnerSetup): void {
  describe("a file for the home", () => {
    const contractSession = shareContractSession(setup);

    it("is there when the process starts, private, in folders that belong to the process; or it is ignored", async () => {
      const contract = await contractSession();
      const script =
        'cd "$1" && ls -dl .agent .agent/etc .agent/etc/* | cut -c 1-10 && touch .agent/more && cat .agent/etc/*';

      const { exit, stdout } = await contract.run(script, { home: [TEXT] });

      if (contract.runner.isolation === "none") {
        expect(exit.exitCode).not.toBe(0);
        expect(await contract.session.readFile(".agent")).toBeUndefined();
      } else {
        const said = 'drwx------\ndrwx------\n-rw-------\nmodel = "ünï"\n';
        expect({ said: stdout.toString(), code: exit.exitCode }).toEqual({ said, code: 0 });
      }
    });
  });

  describe("a host's file for the home", () => {
    const contractSession = shareContractSession(setup);
    const place = async () => {
      const contract = await contractSession();
      const file = join(contract.directory, "auth.json");
      const home: readonly HomeFile[] = [{ path: "auth.json", content: { file } }];
      const run = (script: string, files = home) => contract.run(script, { home: files });
      return { file, home, run, isSandbox: contract.runner.isolation !== "none" };
    };

    it("is copied again only when it has changed on the host, so that the agent may renew it", async () => {
      const { file, isSandbox, run } = await place();
      const say = async (script: string): Promise<string> => (await run(script)).stdout.toString();
      await writeFile(file, "first");

      const first = await say('cat "$1/auth.json"; echo renewed > "$1/auth.json"');
      const second = await say('cat "$1/auth.json"');
      await writeFile(file, "second");
      const third = await say('cat "$1/auth.json"');

      expect([first, second, third]).toEqual(
        isSandbox ? ["first", "renewed\n", "second"] : ["", "renewed\n", "renewed\n"],
      );
      expect(await readFile(file, "utf8")).toBe("second");
    });

    it("replaces a symlink that the agent put in its place, and leaves the symlink's target", async () => {
      const { file, isSandbox, run } = await place();
      await writeFile(file, "first");
      await run('rm -f "$1/auth.json" && echo kept > "$1/other" && ln -s other "$1/auth.json"');
      await writeFile(file, "next");

      const { stdout } = await run('cat "$1/auth.json" "$1/other"');

      expect(stdout.toString()).toBe(isSandbox ? "nextkept\n" : "kept\nkept\n");
    });

    it("is not written through a folder that the agent replaced by a symlink", async () => {
      const { isSandbox, run } = await place();
      await run('mkdir "$1/real" && ln -s real "$1/.linked"', []);

      const outcome = await run("true", [{ path: ".linked/settings", content: "x" }]).then(
        ({ exit }) => exit.exitCode,
        (error: { readonly code?: string }) => error.code,
      );
      const { stdout } = await run('ls -A "$1/real"', []);

      expect([outcome, stdout.toString()]).toEqual([isSandbox ? "SESSION_UNUSABLE" : 0, ""]);
    });

    it("is named by the error if it is missing", async () => {
      const { file, isSandbox, run } = await place();
      await rm(file, { force: true });

      const outcome = await run("true").then(
        ({ exit }) => exit.exitCode,
        (error: unknown) => error,
      );

      const missing = { code: "CONFIG_INVALID", message: expect.stringContaining(`"${file}"`) };
      expect(outcome).toEqual(isSandbox ? expect.objectContaining(missing) : 0);
    });

    it("does not stay in a kept home, and is copied again when the session is resumed", async () => {
      await using theirs = await openContractSession({
        ...setup,
        create: () => setup.create({ keepSessionsMs: 3_600_000 }),
      });
      const file = join(theirs.directory, "token");
      await writeFile(file, "secret");
      const home: readonly HomeFile[] = [TEXT, { path: ".agent/token", content: { file } }];
      await theirs.run("true", { home });
      await theirs.runner.close();
      await theirs.die();
      await using mine = await setup.create();
      const session = await mine.runner.resumeSession(theirs.session.id);
      const directory = await createWorkspace(mine.workspaceRoot);
      const script = 'cat "$1/.agent/etc/settings.toml" "$1/.agent/token"';

      const without = await readAll(await startScript(script, { session, directory, input: "" }));
      const withIt = await readAll(await startScript(script, { session, directory, input: "", home }));

      const said = [without, withIt].map(({ stdout }) => stdout.toString());
      expect(said).toEqual(mine.runner.isolation === "none" ? ["", ""] : ['model = "ünï"\n', 'model = "ünï"\nsecret']);
    });
  });
}
