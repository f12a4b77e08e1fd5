import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HomeArchive } from "../../src/home/home-archive.ts";
import { createLoginSync } from "../../src/login/login-sync.ts";
import { HOSTILE_SQL, makeEndless, spoil } from "./hostile-database.ts";
import { AUTH, changeHost, FILE, openSync, ROTATE, SAID, SAY, TOKEN, type MemorySync } from "./memory-sync.ts";

describe("prepare", () => {
  it("writes the login into the home, for its owner only, and a copy into /auth, read-only", async () => {
    await using made = await openSync();

    await made.sync.prepare("required");

    expect(made.work(TOKEN)).toEqual([expect.stringContaining(made.host.canaries.login)]);
    expect([...made.files.values()].map(({ mode, path }) => [path, mode])).toEqual([
      [FILE, 0o600],
      [AUTH, 0o400],
    ]);
  });

  it("writes nothing while the host's rows are unchanged, and keeps a token that was renewed inside", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.work("UPDATE auth_kv SET value = 'renewed inside' WHERE key LIKE '%:token'");
    changeHost(made.host, "UPDATE state SET value = 'x' WHERE key = 'telemetryClientId'");

    await made.sync.prepare("required");

    expect(made.writes).toHaveLength(1);
    expect(made.work(TOKEN)).toEqual(["renewed inside"]);
  });

  it("writes the host's changed rows, keeps the conversation, and leaves no old log", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.work(SAY);
    changeHost(made.host, ROTATE);

    await made.sync.prepare("required");

    expect(made.work(TOKEN)).toEqual(["the next token"]);
    expect(made.work(SAID)).toEqual(["what was said"]);
    expect(made.writes[1]).toEqual({
      how: "write",
      paths: [FILE, `${FILE}-wal`, `${FILE}-shm`, `${FILE}-journal`, AUTH],
    });
    expect(made.files.get(`${FILE}-wal`)?.content).toHaveLength(0);
    expect(made.files.get(AUTH)?.content.includes("the next token")).toBe(true);
  });

  it("creates a new database if the agent removed it", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.files.clear();
    changeHost(made.host, ROTATE);

    await made.sync.prepare("required");

    expect(made.work(TOKEN)).toEqual(["the next token"]);
  });

  it("keeps the conversation of a session that started with an API key", async () => {
    await using made = await openSync({ login: false });
    await made.sync.prepare("replaced");
    await using model = await openSync();
    await model.sync.prepare("required");
    made.files.set(FILE, model.files.get(FILE) ?? { path: FILE, content: Buffer.alloc(0), mode: 0o600 });
    made.work(SAY);
    changeHost(made.host, "INSERT INTO auth_kv VALUES ('kirocli:odic:token', 'the first token')");

    await made.sync.prepare("required");

    expect(made.work(SAID)).toEqual(["what was said"]);
    expect(made.work(TOKEN)).toEqual(["the first token"]);
    expect(made.writes[1]?.paths).toContain(`${FILE}-wal`);
  });

  it("creates only the home for a command that needs no login, and once", async () => {
    await using made = await openSync();

    await made.sync.prepare("none");
    await made.sync.prepare("none");

    expect(made.writes).toEqual([{ how: "create", paths: [] }]);
  });

  it("explains how to log in if a required login is missing", async () => {
    await using made = await openSync({ login: false });

    await expect(made.sync.prepare("required")).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringMatching(/kiro-cli login.*KIRO_API_KEY/),
    });
    await expect(made.sync.prepare("replaced")).resolves.toBeUndefined();
  });

  it("ignores a broken login for a command with an API key", async () => {
    await using made = await openSync();
    writeFileSync(made.host.database, "this is no database\n".repeat(500));

    await expect(made.sync.prepare("required")).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    await expect(made.sync.prepare("replaced")).resolves.toBeUndefined();
    expect(made.writes).toEqual([{ how: "create", paths: [] }]);
  });

  it("writes again after a failed write", async () => {
    await using made = await openSync();
    const root = mkdtempSync(join(tmpdir(), "budgie-sync-"));
    let create: HomeArchive["create"] = () => Promise.reject(new Error("lost"));
    const archive: HomeArchive = { ...made.archive, create: (files) => create(files) };
    const sync = createLoginSync({ archive, credentials: "full", kiroDataDir: made.host.dataDir, scratchDir: root });

    const { signal } = new AbortController();
    await expect(sync.prepare("required", signal)).rejects.toThrow("lost");
    create = (files) => made.archive.create(files);
    await sync.prepare("required", signal);

    expect(made.work(TOKEN)).toEqual([expect.stringContaining(made.host.canaries.login)]);
    rmSync(root, { recursive: true });
  });
});

describe("clear", () => {
  const never = new AbortController().signal;

  it("removes the login, and keeps the conversation", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.work(SAY);

    await made.sync.clear(never);

    expect(made.work(TOKEN)).toEqual([]);
    expect(made.work(SAID)).toEqual(["what was said"]);
    expect(made.files.get(FILE)?.content.includes(made.host.canaries.login)).toBe(false);
  });

  it.each(Object.keys(HOSTILE_SQL))("writes nothing if the agent left %s in its database", async (what) => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.spoil((content) => spoil(content, HOSTILE_SQL[what] ?? ""));

    await expect(made.sync.clear(never)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });

    expect(made.writes).toHaveLength(1);
  });
});

describe("with an endless database", () => {
  it.each([
    ["a renewed login", (made: MemorySync, signal: AbortSignal) => made.sync.prepare("required", signal)],
    ["an exit", (made: MemorySync, signal: AbortSignal) => made.sync.clear(signal)],
  ] as const)("%s stops when it is aborted, and writes nothing", async (_what, act) => {
    await using made = await openSync();
    await made.sync.prepare("required");
    made.spoil((content) => makeEndless(content, "state"));
    changeHost(made.host, ROTATE);
    const stopping = new AbortController();
    setTimeout(() => stopping.abort(new Error("stopped")), 500);

    await expect(act(made, stopping.signal)).rejects.toThrow("stopped");

    expect(made.writes).toHaveLength(1);
  });
});

describe("isCurrent", () => {
  it("is false once the host has another login than the home, or none", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    expect(await made.sync.isCurrent("required")).toBe(true);

    changeHost(made.host, ROTATE);
    expect(await made.sync.isCurrent("required")).toBe(false);
    await made.sync.prepare("required");
    expect(await made.sync.isCurrent("required")).toBe(true);

    changeHost(made.host, "DELETE FROM auth_kv");
    expect(await made.sync.isCurrent("required")).toBe(false);
    expect(await made.sync.isCurrent("none")).toBe(true);
  });
});
