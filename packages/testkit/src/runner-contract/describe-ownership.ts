import { createSessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { createWorkspace, readUntil, startScript } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const EVERYTHING = { olderThanMs: 0, dryRun: false };

/** Cases about who owns what, and what becomes of it when its owner ends. */
export function describeOwnership(setup: RunnerSetup): void {
  describe("closing a runner", () => {
    it("stops what runs and leaves nothing, and can be done twice", async () => {
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

    it("leaves another runner's sessions alone", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const session = await theirs.runner.openSession(createSessionId());
      await session.appendFile("note", "kept");

      await mine.runner.close();

      expect(await session.readFile("note")).toBe("kept");
    });
  });

  describe("the sessions of several owners", () => {
    it("are listed with whose they are", async () => {
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

    it("cannot be opened by another", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());

      await expect(mine.runner.openSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    });
  });

  describe("collecting garbage", () => {
    it("keeps its own sessions and those of a live owner, and says why", async () => {
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

    it("removes what a dead owner left", async () => {
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

    it("keeps what is younger than asked for", async () => {
      await using mine = await setup.create();
      await using theirs = await setup.create();
      const { id } = await theirs.runner.openSession(createSessionId());
      await theirs.die();

      const report = await mine.runner.collectGarbage({ olderThanMs: 3_600_000, dryRun: false });

      expect(report.kept).toContainEqual(expect.objectContaining({ session: id }));
      expect((await setup.leftovers(id)).stored).not.toEqual([]);
    });

    it("only tells what it would remove in a dry run", async () => {
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
