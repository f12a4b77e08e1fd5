import { createSessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { createWorkspace, readUntil, startScript } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const EVERYTHING = { olderThanMs: 0, dryRun: false };

/** Describes the ownership of sessions, and garbage collection after their owner's end. */
export function describeOwnership(setup: RunnerSetup): void {
  describe("closing a runner", () => {
    it("stops processes, leaves nothing, and can be done twice", async () => {
      await using under = await setup.create();
      const session = await under.runner.openSession(createSessionId());
      const idle = await under.runner.openSession(createSessionId());
      const directory = await createWorkspace(under.workspaceRoot);
      const process = await startScript("echo up; while :; do sleep 0.1; done", { session, directory });
      await readUntil(process.stdout, "up\n");

      await under.runner.close();
      await under.runner.close();

      expect((await process.exit).reason).toBe("shutdown");
      expect(await setup.leftovers(session.id)).toEqual({ running: [], stored: [] });
      expect(await setup.leftovers(idle.id)).toEqual({ running: [], stored: [] });
    });

    it("does not affect another runner's sessions", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const session = await theirs.runner.openSession(createSessionId());
      await session.appendFile("note", "kept");

      await mine.runner.close();

      expect(await session.readFile("note")).toBe("kept");
    });
  });

  describe("the sessions of several owners", () => {
    it("are listed with the state of their owners", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const before = Date.now();
      const own = await mine.runner.openSession(createSessionId());
      const live = await theirs.runner.openSession(createSessionId());

      const records = await mine.runner.listSessions();

      expect(records).toContainEqual(expect.objectContaining({ id: own.id, owner: "own" }));
      expect(records).toContainEqual(expect.objectContaining({ id: live.id, owner: "live" }));
      const created = records.find(({ id }) => id === own.id)?.created.getTime() ?? 0;
      expect(Math.abs(created - before)).toBeLessThan(60_000);
    });

    it("cannot be opened by another owner", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());

      await expect(mine.runner.openSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    });
  });

  describe("collecting garbage", () => {
    it("keeps its own sessions and those of a live owner, with the reason", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const own = await mine.runner.openSession(createSessionId());
      const live = await theirs.runner.openSession(createSessionId());
      await live.appendFile("note", "kept");

      const report = await mine.runner.collectGarbage(EVERYTHING);

      expect(report.kept).toContainEqual(
        expect.objectContaining({ session: own.id, why: expect.stringMatching(/own/) }),
      );
      expect(report.kept).toContainEqual(
        expect.objectContaining({ session: live.id, why: expect.stringMatching(/live/) }),
      );
      expect(report.failed).toEqual([]);
      expect((await setup.leftovers(own.id)).stored).not.toEqual([]);
      expect(await live.readFile("note")).toBe("kept");
    });

    it("removes the sessions of a dead owner", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());
      await theirs.die();

      expect(await mine.runner.listSessions()).toContainEqual(expect.objectContaining({ id, owner: "dead" }));
      const report = await mine.runner.collectGarbage(EVERYTHING);

      expect(report.removed).toContainEqual(expect.objectContaining({ session: id }));
      expect(await setup.leftovers(id)).toEqual({ running: [], stored: [] });
      expect(await mine.runner.listSessions()).not.toContainEqual(expect.objectContaining({ id }));
    });

    it("keeps sessions younger than the minimum age", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());
      await theirs.die();

      const report = await mine.runner.collectGarbage({ olderThanMs: 3_600_000, dryRun: false });

      expect(report.kept).toContainEqual(expect.objectContaining({ session: id }));
      expect((await setup.leftovers(id)).stored).not.toEqual([]);
    });

    it("removes nothing in a dry run, and reports what it would remove", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());
      await theirs.die();

      const report = await mine.runner.collectGarbage({ olderThanMs: 0, dryRun: true });

      expect(report.removed).toContainEqual(expect.objectContaining({ session: id }));
      expect((await setup.leftovers(id)).stored).not.toEqual([]);
    });
  });
}
