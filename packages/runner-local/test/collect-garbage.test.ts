import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionId, type SessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { createLocalPlace, type LocalPlace } from "./local-place.ts";

const EVERYTHING = { olderThanMs: 0, dryRun: false };

type Record = { home?: unknown; owner?: unknown; created?: unknown };

// Each makes a dead session's record into one that must not be believed.
const TAMPERINGS: { readonly [what: string]: (record: Record, place: LocalPlace) => unknown } = {
  "whose home is another folder": (record, { workspace }) => ({ ...record, home: workspace }),
  "whose home is another session's": (record, { sessionsDir }) => ({
    ...record,
    home: join(sessionsDir, createSessionId()),
  }),
  "whose home is relative": (record) => ({ ...record, home: String(record.home).slice(1) }),
  "whose home goes through ..": (record) => ({
    ...record,
    home: String(record.home).replace("/sessions/", "/x/../sessions/"),
  }),
  "whose home is no text": (record) => ({ ...record, home: ["/"] }),
  "without a home": ({ owner, created }) => ({ owner, created }),
  "without an owner": ({ home, created }) => ({ home, created }),
  "with half an owner": (record) => ({ ...record, owner: { instance: "x" } }),
  "with no date": (record) => ({ ...record, created: "yesterday" }),
  "that is a list": () => [],
  "that is null": () => null,
};

describe("collectGarbage", () => {
  it.each(Object.entries(TAMPERINGS))("touches nothing for a record %s, and reports it", async (_, tamper) => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify(tamper(record, place)));

    const report = await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(report).toMatchObject({ removed: [], kept: [], failed: [{ kind: "folder", session: id }] });
    expect(existsSync(join(place.sessionsDir, id, "note"))).toBe(true);
    expect(existsSync(place.workspace)).toBe(true);
  });

  it("reports records that are no JSON, or not named after a session, and collects the others", async () => {
    await using place = createLocalPlace();
    const broken = await leaveDeadSession(place);
    const strange = await leaveDeadSession(place);
    const whole = await leaveDeadSession(place);
    broken.write("{");
    renameSync(strange.path, join(place.stateDir, "local-sessions", "sessions.json"));

    const report = await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(report.removed.map(({ session }) => session)).toEqual([whole.id]);
    expect(new Set(report.failed.map(({ session }) => session))).toEqual(new Set([broken.id, "sessions"]));
  });

  it("keeps what belongs to another machine", async () => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify({ ...record, owner: { ...(record.owner as object), host: "elsewhere" } }));

    const report = await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(report.kept).toMatchObject([{ session: id, why: expect.stringContaining("another machine") }]);
    expect(existsSync(join(place.sessionsDir, id))).toBe(true);
  });

  it("removes a link in the place of a home, and not what it leads to", async () => {
    await using place = createLocalPlace();
    const { id } = await leaveDeadSession(place);
    const home = join(place.sessionsDir, id);
    renameSync(home, join(place.root, "elsewhere"));
    symlinkSync(join(place.root, "elsewhere"), home);

    const report = await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(report.removed).toMatchObject([{ session: id }]);
    expect(existsSync(home)).toBe(false);
    expect(readFileSync(join(place.root, "elsewhere", "note"), "utf8")).toBe("mine");
  });

  it("removes no file that a record calls a lock", async () => {
    await using place = createLocalPlace();
    const outside = join(place.root, "precious");
    const inside = join(place.stateDir, "owners", "precious");
    const sessions = [await leaveDeadSession(place), await leaveDeadSession(place)];
    mkdirSync(join(place.stateDir, "owners"), { recursive: true });
    for (const [index, lock] of [outside, inside].entries()) {
      const { record, write } = sessions[index] ?? sessions[0] ?? (await leaveDeadSession(place));
      writeFileSync(lock, "");
      write(JSON.stringify({ ...record, owner: { ...(record.owner as object), lock } }));
    }

    await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect([outside, inside].filter((path) => existsSync(path))).toEqual([outside, inside]);
  });

  it("does not mind two that collect at once", async () => {
    await using place = createLocalPlace();
    await leaveDeadSession(place);
    const runners = [place.createRunner().runner, place.createRunner().runner];

    const reports = await Promise.all(runners.map((runner) => runner.collectGarbage(EVERYTHING)));

    expect(reports.flatMap(({ failed }) => failed)).toEqual([]);
    expect(await runners[0]?.listSessions()).toEqual([]);
  });
});

type DeadSession = {
  readonly id: SessionId;
  readonly path: string;
  readonly record: Record;
  readonly write: (text: string) => void;
};

async function leaveDeadSession(place: LocalPlace): Promise<DeadSession> {
  const { runner, owner } = place.createRunner();
  const session = await runner.openSession(createSessionId());
  await session.appendFile("note", "mine");
  await owner.release();
  const path = join(place.stateDir, "local-sessions", `${session.id}.json`);
  const write = (text: string) => writeFileSync(path, text);
  return { id: session.id, path, record: JSON.parse(readFileSync(path, "utf8")), write };
}
