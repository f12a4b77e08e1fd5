import type Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { loadKiroLogin } from "../../src/login/kiro-login.ts";
import { createSessionDatabase } from "../../src/login/session-database.ts";
import { createDatabasePlace, logins, type DatabasePlace } from "./database-place.ts";

let place: DatabasePlace;
beforeEach(() => {
  place = createDatabasePlace();
});
afterEach(() => place[Symbol.dispose]());

const say = (database: Database.Database): void =>
  void database.prepare("INSERT INTO conversations (key, value) VALUES ('/workspace', 'what was said')").run();
const SAID = "SELECT value FROM conversations";

describe("createSessionDatabase", () => {
  it.each([false, true])("contains only the schema, the migrations and the login (WAL: %s)", async (wal) => {
    await using host = await createHostHome({ wal });
    const login = await loadKiroLogin(host.dataDir);
    if (login === undefined) throw new Error("no login");

    const bytes = await createSessionDatabase(login, place.scratch);

    const counts =
      "SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM conversations) + (SELECT count(*) FROM conversations_v2)";
    expect(place.rows(bytes, counts)).toEqual([0]);
    expect(place.rows(bytes, "SELECT key FROM state ORDER BY key")).toEqual([
      "api.codewhisperer.profile",
      "auth.idc.region",
      "auth.idc.start-url",
    ]);
    expect(place.rows(bytes, "SELECT count(*) FROM auth_kv")).toEqual([2]);
    expect(place.rows(bytes, "SELECT version FROM migrations ORDER BY 1")).toEqual(
      login.migrations.map(({ version }) => version),
    );
    expect(place.rows(bytes, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1")).toEqual(
      login.schema.toSorted(),
    );
  });

  it.each([false, true])("contains no byte of the host's other data (WAL: %s)", async (wal) => {
    await using host = await createHostHome({ wal });
    const login = await loadKiroLogin(host.dataDir);
    if (login === undefined) throw new Error("no login");

    const text = (await createSessionDatabase(login, place.scratch)).toString("latin1");

    const { login: token, ...others } = host.canaries;
    expect(text).toContain(token);
    for (const canary of Object.values(others)) expect(text).not.toContain(canary);
    expect(text).not.toContain("secret-project");
  });
});

describe("renewSessionDatabase", () => {
  it("replaces the login and keeps the conversation", async () => {
    const { after, before } = await logins();
    const files = place.work(await createSessionDatabase(before, place.scratch), say);

    const bytes = await place.renew(files, after);

    expect(place.rows(bytes, SAID)).toEqual(["what was said"]);
    expect(place.rows(bytes, "SELECT key, value FROM auth_kv")).toEqual(["kirocli:odic:token", "the new token"]);
    expect(place.rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("replaces the profile, and keeps what the agent has in the same table", async () => {
    const { before } = await logins();
    const files = place.work(await createSessionDatabase(before, place.scratch), (database) =>
      database.exec("INSERT INTO state VALUES ('own', 1), ('auth.idc.more', 1)"),
    );
    const after = { ...before, state: [{ key: "auth.idc.region", value: '"eu-west-1"' }] };

    const bytes = await place.renew(files, after);

    expect(place.rows(bytes, "SELECT key, value FROM state ORDER BY 1")).toEqual([
      "auth.idc.region",
      '"eu-west-1"',
      "own",
      1,
    ]);
  });

  it("replays the log of a killed agent into a single file", async () => {
    const { after, before } = await logins();
    const wal = (database: Database.Database): void => {
      database.pragma("journal_mode = WAL");
      say(database);
    };
    const files = place.work(await createSessionDatabase(before, place.scratch), wal, true);

    expect(files.get("-wal")?.length).toBeGreaterThan(0);
    const bytes = await place.renew(files, after);

    expect(place.rows(bytes, SAID)).toEqual(["what was said"]);
    expect(place.rows(bytes, "SELECT value FROM auth_kv")).toEqual(["the new token"]);
  });

  it("rolls back a killed agent's incomplete transaction", async () => {
    const { after, before } = await logins();
    const half = (database: Database.Database): void => {
      database.pragma("cache_size = 1");
      say(database);
      database.exec("BEGIN; UPDATE conversations SET value = 'half'");
      database.exec(`INSERT INTO history (command) SELECT hex(randomblob(9000)) FROM (VALUES (1),(2),(3),(4))`);
    };
    const files = place.work(await createSessionDatabase(before, place.scratch), half, true);

    expect(files.get("-journal")?.length).toBeGreaterThan(0);
    const bytes = await place.renew(files, after);

    expect(place.rows(bytes, SAID)).toEqual(["what was said"]);
    expect(place.rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("copies the schema of a newer Kiro than the host's, with its migrations", async () => {
    const { after, before } = await logins();
    const files = place.work(await createSessionDatabase(before, place.scratch), (database) => {
      database.exec(`ALTER TABLE conversations ADD COLUMN model TEXT; INSERT INTO migrations VALUES (99, 42, 0);
        CREATE TABLE "more" (id INTEGER PRIMARY KEY, "key" TEXT NOT NULL UNIQUE, UNIQUE (id, key));
        CREATE UNIQUE INDEX idx_more ON more (key DESC, id)`);
      database.exec(
        "INSERT INTO conversations VALUES ('/workspace', 'what was said', 'm'); INSERT INTO more VALUES (7, 'k')",
      );
    });

    const bytes = await place.renew(files, after);

    expect(
      place.rows(bytes, "SELECT value, model, max(version), more.id, more.key FROM conversations, migrations, more"),
    ).toEqual(["what was said", "m", 42, 7, "k"]);
    expect(place.rows(bytes, "SELECT name FROM pragma_index_list('more') ORDER BY 1")).toContain("idx_more");
    expect(place.rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("copies any definition that is identical to the host's", async () => {
    const { before } = await logins();
    const own = { ...before, schema: [...before.schema, "CREATE TABLE own (a TEXT DEFAULT (1 + 1) CHECK (a <> 3))"] };
    const files = place.work(await createSessionDatabase(own, place.scratch), (database) =>
      database.exec("INSERT INTO own DEFAULT VALUES"),
    );

    expect(place.rows(await place.renew(files, own), "SELECT a FROM own")).toEqual(["2"]);
    await expect(place.renew(files, before)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  });

  it("omits the login if the host has none", async () => {
    const { before } = await logins();
    const files = place.work(await createSessionDatabase(before, place.scratch), say);

    const bytes = await place.renew(files, undefined);

    expect(place.rows(bytes, SAID)).toEqual(["what was said"]);
    expect(place.rows(bytes, "SELECT (SELECT count(*) FROM auth_kv) + (SELECT count(*) FROM state)")).toEqual([0]);
  });
});
