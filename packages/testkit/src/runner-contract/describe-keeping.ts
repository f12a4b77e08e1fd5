import { createSessionId, type Runner } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { createWorkspace, readAll, readUntil, startScript } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const KEEPING = { keepSessionsMs: 3_600_000 };

/** Describes sessions that outlive their runner, and their resumption by others. */
export function describeKeeping(setup: RunnerSetup): void {
  describe("a runner that keeps sessions", () => {
    it("leaves homes but no processes when it is closed, and can be closed twice", async () => {
      await using mine = await setup.create(KEEPING);
      await using control = await setup.create();
      const [session, ended] = [
        await mine.runner.openSession(createSessionId()),
        await control.runner.openSession(createSessionId()),
      ];
      const directory = await createWorkspace(mine.workspaceRoot);
      const process = await startScript("echo up; while :; do sleep 0.1; done", { session, directory });
      await readUntil(process.stdout, "up\n");

      await Promise.all([mine.runner.close(), control.runner.close()]);
      await mine.runner.close();

      const { running, stored } = await setup.leftovers(session.id);
      expect((await process.exit).reason).toBe("shutdown");
      expect(running).toEqual([]);
      expect(stored).toEqual(expect.arrayContaining([expect.stringMatching(new RegExp(`${session.id}$`))]));
      expect(stored).not.toContainEqual(expect.stringContaining("auth"));
      expect(await setup.leftovers(ended.id)).toEqual({ running: [], stored: [] });
      await mine.die();
      await removeKept(setup, session.id);
    });

    it("removes a session on request", async () => {
      await using mine = await setup.create(KEEPING);
      const session = await mine.runner.openSession(createSessionId());

      await session.remove();

      expect(await setup.leftovers(session.id)).toEqual({ running: [], stored: [] });
    });
  });

  describe("a session of a dead owner", () => {
    it("is resumed with its home, works, and belongs to the new owner", async () => {
      await using theirs = await setup.create(KEEPING);
      await using mine = await setup.create();
      const { id } = await abandonSession(
        setup,
        theirs.runner,
        'mkdir -p "$1/.agent"; echo remembered > "$1/.agent/note"',
      );
      await theirs.die();

      const session = await mine.runner.resumeSession(id);

      const directory = await createWorkspace(mine.workspaceRoot);
      const said = await readAll(await startScript('cat "$1/.agent/note"', { session, directory, input: "" }));
      expect(said.stdout.toString()).toBe("remembered\n");
      expect(await mine.runner.listSessions()).toContainEqual(expect.objectContaining({ id }));
      await mine.runner.close();
      expect(await setup.leftovers(id)).toEqual({ running: [], stored: [] });
    });

    it("is resumed after a crash during a turn, whose processes have ended", async () => {
      await using theirs = await setup.create(KEEPING);
      await using mine = await setup.create();
      const old = await theirs.runner.openSession(createSessionId());
      const directory = await createWorkspace(mine.workspaceRoot);
      const script = 'echo remembered > "$1/note"; echo up; while :; do sleep 0.1; done';
      const process = await startScript(script, { session: old, directory });
      await readUntil(process.stdout, "up\n");
      const before = await setup.leftovers(old.id);
      await theirs.die();

      const session = await mine.runner.resumeSession(old.id);

      const { exitCode } = await process.exit.catch(() => ({ exitCode: "lost" }));
      expect(before.running).not.toEqual([]);
      expect(exitCode).not.toBe(0);
      const after = await setup.leftovers(old.id);
      expect(after.running.filter((name) => before.running.includes(name))).toEqual([]);
      expect(await session.readFile("note")).toBe("remembered\n");
    });

    it("is resumed if no turn ever started in it", async () => {
      await using theirs = await setup.create(KEEPING);
      await using mine = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());
      await theirs.runner.close();
      await theirs.die();

      const session = await mine.runner.resumeSession(id);

      const directory = await createWorkspace(mine.workspaceRoot);
      const { exit } = await readAll(await startScript('touch "$1/note"', { session, directory, input: "" }));
      expect(exit.exitCode).toBe(0);
    });

    it("is not resumed while its owner lives, and stays usable there", async () => {
      await using theirs = await setup.create(KEEPING);
      await using mine = await setup.create();
      const session = await theirs.runner.openSession(createSessionId());
      await session.appendFile("note", "kept");

      await expect(mine.runner.resumeSession(session.id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });

      expect(await session.readFile("note")).toBe("kept");
      await session.remove();
    });

    it("is not resumed by a third owner while the second lives", async () => {
      await using first = await setup.create(KEEPING);
      await using second = await setup.create(KEEPING);
      await using third = await setup.create();
      const { id } = await abandonSession(setup, first.runner, 'echo remembered > "$1/note"');
      await first.die();
      const session = await second.runner.resumeSession(id);

      await expect(third.runner.resumeSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });

      expect(await session.readFile("note")).toBe("remembered\n");
      await session.remove();
    });

    it("is not created if it does not exist", async () => {
      await using mine = await setup.create();
      const id = createSessionId();

      await expect(mine.runner.resumeSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });

      expect(await setup.leftovers(id)).toEqual({ running: [], stored: [] });
    });
  });
}

/** Opens a session, runs a script in it and closes its runner. */
async function abandonSession(
  setup: RunnerSetup,
  runner: Runner,
  script: string,
): Promise<{ readonly id: ReturnType<typeof createSessionId> }> {
  const session = await runner.openSession(createSessionId());
  await using place = await setup.create();
  const directory = await createWorkspace(place.workspaceRoot);
  await readAll(await startScript(script, { session, directory, input: "" }));
  await runner.close();
  return session;
}

async function removeKept(setup: RunnerSetup, id: ReturnType<typeof createSessionId>): Promise<void> {
  await using heir = await setup.create();
  await (await heir.runner.resumeSession(id)).remove();
}
