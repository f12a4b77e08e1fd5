import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createSessionId } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { describe, expect, it } from "vitest";
import { createLocalPlace, hasProcessTable } from "./helpers/local-place.ts";

describe("createLocalRunner", () => {
  it("reports that it isolates nothing", async () => {
    await using place = createLocalPlace();

    expect(place.createRunner().runner).toMatchObject({ isolation: "none", notices: [] });
  });

  it("reports the processors of this machine, and at most its memory", async () => {
    await using place = createLocalPlace();
    const { capacity } = place.createRunner().runner;

    expect(capacity.cpus).toBe(availableParallelism());
    expect(capacity.memoryBytes).toBeGreaterThan(0);
    expect(capacity.memoryBytes).toBeLessThanOrEqual(totalmem());
  });

  it("writes nothing before the first session", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();

    expect(await runner.listSessions()).toEqual([]);
    expect(await runner.collectGarbage({ olderThanMs: 0, dryRun: false })).toEqual({
      removed: [],
      kept: [],
      failed: [],
    });
    await runner.close();
    expect(readdirSync(place.root)).toEqual(["workspace"]);
  });

  it.runIf(hasProcessTable)("resumes a session that was kept across a reboot", async () => {
    await using place = createLocalPlace();
    const before = place.createRunner([], { keepSessionsMs: 3_600_000 });
    const { id } = await before.runner.openSession(createSessionId());
    await before.runner.close();
    await before.owner.release();
    const path = join(place.stateDir, "local-sessions", `${id}.json`);
    const record = readFileSync(path, "utf8");
    const { boot = "" } = before.owner.record.process ?? {};
    writeFileSync(path, record.replace(boot, "00000000-0000-4000-8000-000000000000"));

    const session = await place.createRunner().runner.resumeSession(id);

    expect(record).toContain(boot);
    expect(session.id).toBe(id);
  });

  it.each(["agents", "hooks", "settings", "workflows", "workspace-roots"])(
    "runs no further turn of a session whose agent made .kiro/%s, where Kiro would look for it",
    async (name) => {
      await using place = createLocalPlace();
      const session = await place.createRunner().runner.openSession(createSessionId());
      const command = { env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS };
      const turn = async (...argv: [string, ...string[]]) => {
        const process = await session.start({ ...command, argv }, { directory: place.workspace, input: "" });
        return await process.exit;
      };

      expect(await turn("mkdir", "-p", ".kiro/steering")).toMatchObject({ exitCode: 0 });
      expect(await turn("mkdir", `.kiro/${name}`)).toMatchObject({ exitCode: 0 });
      await expect(turn("true")).rejects.toMatchObject({
        code: "SESSION_UNUSABLE",
        message: expect.stringContaining(`.kiro/${name}"`),
      });
    },
  );

  it("keeps no home that is to end with its owner", async () => {
    await using place = createLocalPlace();
    const { owner, runner } = place.createRunner([], { keepSessionsMs: 3_600_000 });
    const [kept] = [
      await runner.openSession(createSessionId()),
      await runner.openSession(createSessionId(), { isKept: false }),
    ];

    await runner.close();
    await owner.release();

    expect(readdirSync(join(place.root, "sessions"))).toEqual([kept.id]);
  });

  it("makes its folders and records inaccessible to other users", async () => {
    await using place = createLocalPlace();
    const id = createSessionId();
    const session = await place.createRunner().runner.openSession(id);
    await session.appendFile("log", "x");

    const mode = (...path: readonly string[]) => (statSync(join(place.root, ...path)).mode & 0o777).toString(8);
    expect(mode("sessions")).toBe("700");
    expect(mode("sessions", id)).toBe("700");
    expect(mode("sessions", id, "log")).toBe("600");
    expect(mode("state", "local-sessions")).toBe("700");
    expect(mode("state", "local-sessions", `${id}.json`)).toBe("600");
  });

  it("starts nothing in a session whose agent planted agents for its next turn", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const hidden = { ".tool": "empty folder", "~/.tool/agents": "empty folder" } as const;
    const command = { argv: ["sh", "-c", "mkdir -p .tool/agents"] as const, env: {}, projections: [], hidden };
    const options = { directory: place.workspace, input: "" };
    await (
      await session.start(command, options)
    ).exit;

    await expect(session.start(command, options)).rejects.toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringContaining(".tool/agents"),
    });
  });

  it("names a session folder that cannot be created, and the option for another", async () => {
    await using place = createLocalPlace();
    writeFileSync(place.sessionsDir, "a file");

    const opening = place.createRunner().runner.openSession(createSessionId());

    await expect(opening).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/sessions" \(EEXIST\)\. .*the option "sessionsDir"/),
    });
  });

  it("opens one session for callers at the same time", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();
    const id = createSessionId();

    const [one, two] = await Promise.all([runner.openSession(id), runner.openSession(id)]);

    expect(one).toBe(two);
  });

  it("does not take over a folder without a record", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();
    const id = createSessionId();
    mkdirSync(join(place.sessionsDir, id), { recursive: true });
    writeFileSync(join(place.sessionsDir, id, "theirs"), "");

    await expect(runner.openSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await runner.close();

    expect(existsSync(join(place.sessionsDir, id, "theirs"))).toBe(true);
  });

  it("does not take over another owner's session whose home is missing", async () => {
    await using place = createLocalPlace();
    const { id } = await place.createRunner().runner.openSession(createSessionId());
    rmSync(join(place.sessionsDir, id), { recursive: true });

    await expect(place.createRunner().runner.openSession(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("opens nothing after it is closed", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();
    await runner.close();

    await expect(runner.openSession(createSessionId())).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  });

  it("starts nothing in a removed session, nor in one whose home is missing", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();
    const command = { argv: ["true"] as const, env: {}, projections: [] };
    const removed = await runner.openSession(createSessionId());
    const gone = await runner.openSession(createSessionId());
    const start = removed.start(command, { directory: place.workspace, input: "" });
    await Promise.all([removed.remove(), expect(start).rejects.toMatchObject({ code: "CANCELLED" })]);
    rmSync(gone.paths(place.workspace).home, { recursive: true });

    await expect(gone.start(command, { directory: place.workspace, input: "" })).rejects.toMatchObject({
      code: "SESSION_UNUSABLE",
    });
    await expect(gone.appendFile("log", "x")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  });

  it("rejects a relative workspace", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const command = { argv: ["true"] as const, env: {}, projections: [] };

    await expect(session.start(command, { directory: ".", input: "" })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
    });
  });

  it("passes the configured variables of the host", async () => {
    await using place = createLocalPlace();
    process.env["BUDGIE_TEST_WANTED"] = "wanted";
    const session = await place.createRunner(["BUDGIE_TEST_WANTED"]).runner.openSession(createSessionId());
    delete process.env["BUDGIE_TEST_WANTED"];
    const command = { argv: ["env"] as const, env: {}, projections: [] };

    const { stdout } = await session.start(command, { directory: place.workspace, input: "" });

    expect(await text(stdout)).toContain("BUDGIE_TEST_WANTED=wanted\n");
  });
});
