import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSessionDatabase } from "../../src/login/session-database.ts";
import { createDatabasePlace, logins, type DatabasePlace } from "./database-place.ts";
import { HOSTILE_SQL, makeEndless, spoil } from "./hostile-database.ts";

let place: DatabasePlace;
beforeEach(() => {
  place = createDatabasePlace();
});
afterEach(() => place[Symbol.dispose]());

describe("renewSessionDatabase", () => {
  it.each([
    ...Object.entries(HOSTILE_SQL),
    ["no table of that name", "DROP TABLE auth_kv"],
    ["other columns", "ALTER TABLE auth_kv RENAME COLUMN value TO other"],
  ])("refuses a database in which the agent left %s", async (_, sql) => {
    const { after, before } = await logins();
    const files = new Map([["", spoil(await createSessionDatabase(before, place.scratch), sql)]]);

    expect(await outcomeOf(place.renew(files, after))).toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringMatching(/Begin a new session\.$/),
    });
  });

  it("times out on an endless one, and delays nobody else meanwhile", async () => {
    const { after, before } = await logins();
    const files = new Map([["", makeEndless(await createSessionDatabase(before, place.scratch), "state")]]);
    let turns = 0;
    const timer = setInterval(() => turns++, 20);

    const outcome = await outcomeOf(place.renew(files, after));
    clearInterval(timer);

    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE", message: expect.stringContaining("within 10 s") });
    expect(turns).toBeGreaterThan(100);
  });

  it("stops at once when it is aborted", async () => {
    const { after, before } = await logins();
    const files = new Map([["", makeEndless(await createSessionDatabase(before, place.scratch), "state")]]);
    const stopping = new AbortController();
    const outcome = outcomeOf(place.renew(files, after, stopping.signal));
    await vi.waitFor(
      () =>
        expect(readdirSync(place.scratch).flatMap((name) => readdirSync(join(place.scratch, name)))).toContain(
          "copy.sqlite3",
        ),
      10_000,
    );

    stopping.abort(new Error("stopped"));

    expect(await outcome).toMatchObject({ message: "stopped" });
  });

  it("does not fill the disk", async () => {
    const { after, before } = await logins();
    const long = "INSERT INTO conversations VALUES (NULL, hex(zeroblob(1000000)))";
    const spoilt = makeEndless(spoil(await createSessionDatabase(before, place.scratch), long), "conversations");
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, sizeOf(place.scratch))), 20);

    const outcome = await outcomeOf(place.renew(new Map([["", spoilt]]), after));
    clearInterval(timer);

    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(300 * 2 ** 20);
  });

  it.each([
    ["is no database", () => Buffer.from("no database at all ".repeat(500))],
    ["is cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    [
      "is scribbled over",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xa5)]),
    ],
    ["is empty", () => Buffer.alloc(0)],
  ])("refuses a file that %s", async (_, damage) => {
    const { after, before } = await logins();
    const files = new Map([["", damage(await createSessionDatabase(before, place.scratch))]]);

    expect(await outcomeOf(place.renew(files, after))).toMatchObject({ code: "SESSION_UNUSABLE" });
  });

  // After a rollback, SQLite deletes the file that such a journal names.
  it("deletes no file of the host that a planted journal names", async () => {
    const { after, before } = await logins();
    const victim = join(place.root, "victim");
    writeFileSync(victim, "precious");
    const database = await createSessionDatabase(before, place.scratch);
    const files = new Map([
      ["", database],
      ["-journal", plantJournal(database, victim)],
    ]);

    const outcome = await outcomeOf(place.renew(files, after));

    expect(existsSync(victim)).toBe(true);
    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
  });
});

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true }).map((name) =>
    statSync(join(folder, String(name)), { throwIfNoEntry: false }),
  );
  return files.reduce((sum, facts) => sum + (facts?.isFile() === true ? facts.size : 0), 0);
}

/** Returns the error, or "updated" in place of the bytes. */
function outcomeOf(update: Promise<Buffer>): Promise<unknown> {
  return update.then(
    () => "updated",
    (error: unknown) => error,
  );
}

const JOURNAL_MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** Creates a hot journal without pages that names `leader` as its super-journal. */
function plantJournal(database: Buffer, leader: string): Buffer {
  const header = Buffer.alloc(512);
  JOURNAL_MAGIC.copy(header);
  header.writeUInt32BE(database.readUInt32BE(28), 16);
  header.writeUInt32BE(512, 20);
  header.writeUInt32BE(database.readUInt16BE(16), 24);
  const name = Buffer.from(leader);
  const lockPage = Buffer.alloc(4);
  lockPage.writeUInt32BE(2 ** 30 / database.readUInt16BE(16) + 1);
  const tail = Buffer.alloc(8);
  tail.writeUInt32BE(name.length, 0);
  tail.writeUInt32BE(
    name.reduce((sum, byte) => sum + byte, 0),
    4,
  );
  return Buffer.concat([header, lockPage, name, tail, JOURNAL_MAGIC]);
}
