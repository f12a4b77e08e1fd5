import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { loadKiroLogin } from "../../src/login/kiro-login.ts";

/** Reads everything that a reader could change in a folder: names, bytes, times and modes. */
function snapshot(folder: string) {
  return readdirSync(folder).map((name) => {
    const path = join(folder, name);
    const { ino, mode, mtimeNs, size, uid } = statSync(path, { bigint: true });
    return { name, ino, mode, mtimeNs, size, uid, hash: createHash("sha256").update(readFileSync(path)).digest("hex") };
  });
}

describe("loadKiroLogin", () => {
  it.each([false, true])("reads token, registration, profile and region, and nothing else (WAL: %s)", async (wal) => {
    await using host = await createHostHome({ wal });

    const login = await loadKiroLogin(host.dataDir);

    expect(login?.auth.map(({ key }) => key)).toEqual(["kirocli:odic:device-registration", "kirocli:odic:token"]);
    expect(login?.state.map(({ key }) => key)).toEqual([
      "api.codewhisperer.profile",
      "auth.idc.region",
      "auth.idc.start-url",
    ]);
    expect(login?.migrations.length).toBeGreaterThan(5);
    expect(JSON.stringify(login)).toContain(host.canaries.login);
    const { login: _, ...others } = host.canaries;
    for (const canary of Object.values(others)) expect(JSON.stringify(login)).not.toContain(canary);
  });

  it("changes no byte, time or name of a host's database", async () => {
    await using host = await createHostHome();
    const before = snapshot(host.dataDir);

    await loadKiroLogin(host.dataDir);

    expect(snapshot(host.dataDir)).toEqual(before);
  });

  it("does not change the database and its log while Kiro has them open", async () => {
    await using host = await createHostHome({ wal: true });
    const files = () => snapshot(host.dataDir).filter(({ name }) => !name.endsWith("-shm"));
    const before = files();

    await loadKiroLogin(host.dataDir);

    expect(before.map(({ name }) => name)).toEqual(["data.sqlite3", "data.sqlite3-wal"]);
    expect(files()).toEqual(before);
  });

  // SQLite creates an empty log beside such a database, which the next writer removes.
  it("changes nothing in a database that was closed in WAL mode", async () => {
    await using host = await createHostHome();
    const touch = () => {
      const database = new Database(host.database);
      database.pragma("journal_mode = WAL");
      database.prepare("UPDATE state SET value = 'x' WHERE key = 'telemetryClientId'").run();
      database.close();
    };
    touch();
    const before = snapshot(host.dataDir);

    expect(await loadKiroLogin(host.dataDir)).toBeDefined();

    expect(snapshot(host.dataDir)[0]).toEqual(before[0]);
    touch();
    expect(readdirSync(host.dataDir)).toEqual(["data.sqlite3"]);
  });

  it("reads a token that was just renewed, with another fingerprint", async () => {
    await using host = await createHostHome({ wal: true });
    const before = await loadKiroLogin(host.dataDir);
    const same = await loadKiroLogin(host.dataDir);

    const database = new Database(host.database);
    database.prepare("UPDATE auth_kv SET value = 'renewed' WHERE key LIKE '%:token'").run();
    const after = await loadKiroLogin(host.dataDir);
    database.close();

    expect(same?.fingerprint).toBe(before?.fingerprint);
    expect(after?.fingerprint).not.toBe(before?.fingerprint);
    expect(JSON.stringify(after?.auth)).toContain("renewed");
  });

  it("changes its fingerprint with the profile, and not with the host's other data", async () => {
    await using host = await createHostHome();
    const print = async () => (await loadKiroLogin(host.dataDir))?.fingerprint;
    const set = (key: string) => {
      const database = new Database(host.database);
      database.prepare("UPDATE state SET value = value || 'x' WHERE key = ?").run(key);
      database.close();
    };
    const first = await print();

    set("telemetryClientId");
    expect(await print()).toBe(first);
    set("api.codewhisperer.profile");
    expect(await print()).not.toBe(first);
  });

  it("finds no login without a database, and in one without a token", async () => {
    await using host = await createHostHome({ login: false });

    expect(await loadKiroLogin(join(host.home, "nowhere"))).toBeUndefined();
    expect(await loadKiroLogin(host.dataDir)).toBeUndefined();
  });

  it("finds no login in a database that Kiro has not filled yet", async () => {
    await using host = await createHostHome();
    rmSync(host.database);
    new Database(host.database).exec("VACUUM").close();

    expect(await loadKiroLogin(host.dataDir)).toBeUndefined();
  });

  it.each([
    [
      "is no database",
      (path: string) => writeFileSync(path, "this is no database, and long enough to be one\n".repeat(99)),
    ],
    ["is a folder", (path: string) => mkdirSync(path)],
  ])("names the unreadable file if it %s", async (_, make) => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-login-"));
    const path = join(folder, "data.sqlite3");
    mkdirSync(dirname(path), { recursive: true });
    make(path);

    await expect(loadKiroLogin(folder)).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringContaining(`"${path}"`),
    });
    rmSync(folder, { recursive: true });
  });
});
