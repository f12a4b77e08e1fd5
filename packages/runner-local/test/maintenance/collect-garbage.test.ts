import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionId, type SessionId } from "@budgie/core";
import { readOwnProcess, type OwnerRecord } from "@budgie/core/owners";
import { describe, expect, it } from "vitest";
import { createLocalPlace, hasProcessTable, type LocalPlace } from "../helpers/local-place.ts";

const EVERYTHING = { olderThanMs: 0, dryRun: false };

type Record = { home?: unknown; owner?: unknown; created?: unknown };

// Each tampering invalidates a dead session's record.
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
  "with half an owner's process": (record) => of({ process: { pid: 1 } }, record),
  "with a process group for an owner's process": (record) =>
    of({ process: { pidNamespace: "1", pid: -1, started: "1", boot: "x" } }, record),
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

  it("removes a session's record, and the draft of a killed write", async () => {
    await using place = createLocalPlace();
    const { path } = await leaveDeadSession(place);
    writeFileSync(path.replace(/json$/, "draft"), "{");

    await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(readdirSync(join(place.stateDir, "local-sessions"))).toEqual([]);
  });

  it("reports records that are not JSON or not named after a session, and collects the others", async () => {
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

  it.each([
    ["1 h ago", "kept", 1, {}],
    ["25 h ago", "removed", 25, {}],
    ["in an hour, as a clock that is wrong says", "kept", -1, {}],
    ["1 h ago, when it is to go by force", "removed", 1, { force: true }],
  ] as const)("of another machine, made %s, is %s", async (...[, outcome, hours, how]) => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify({ ...of({ host: "elsewhere" }, record), created: hoursAgo(hours) }));

    const report = await place.createRunner().runner.collectGarbage({ ...EVERYTHING, ...how });

    expect(report[outcome]).toMatchObject([{ session: id }]);
    expect(existsSync(join(place.sessionsDir, id))).toBe(outcome === "kept");
    expect(report.kept.every(({ why }) => why.includes("another machine"))).toBe(true);
  });

  it.runIf(hasProcessTable).each([
    ["whose process has this one's number, from before it: removed", { started: "1" }, undefined, "removed"],
    ["whose process is this one, and has lost its lock: kept", {}, /its owner lives/, "kept"],
    ["from before the boot, whose number this process has now: removed", { boot: "earlier" }, undefined, "removed"],
    ["whose process is in another pid namespace: kept", { pidNamespace: "1" }, /another pid namespace/, "kept"],
  ] as const)("judges an owner %s", async (...[, changes, why, outcome]) => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify(of({ process: { ...readOwnProcess(), ...changes } }, record)));

    const report = await place.createRunner().runner.collectGarbage(EVERYTHING);

    expect(report[outcome]).toMatchObject([{ session: id }]);
    expect(report.kept.map((item) => item.why)).toEqual(why === undefined ? [] : [expect.stringMatching(why)]);
    expect(existsSync(join(place.sessionsDir, id))).toBe(outcome === "kept");
  });

  it.each([
    ["kept", 47],
    ["removed", 49],
  ] as const)("a dead owner's session that is kept for 48 h is %s %s h after its last use", async (outcome, hours) => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify({ ...record, created: hoursAgo(1000), keepMs: 48 * 3_600_000 }));
    const owner = record.owner as OwnerRecord;
    const sessions = async (asked: SessionId) =>
      asked === id ? { owner, usedMs: Date.parse(hoursAgo(hours)) } : undefined;

    const report = await place.createRunner().runner.collectGarbage({ ...EVERYTHING, sessions });

    expect(report[outcome]).toMatchObject([{ session: id }]);
  });

  it("keeps a dead owner's session that a live one has resumed", async () => {
    await using place = createLocalPlace();
    const { id, record, write } = await leaveDeadSession(place);
    write(JSON.stringify({ ...record, created: hoursAgo(1000), keepMs: 3_600_000 }));
    const { owner } = place.createRunner();
    await owner.hold();
    const sessions = async () => ({ owner: owner.record, usedMs: 0 });

    const report = await place.createRunner().runner.collectGarbage({ ...EVERYTHING, sessions });

    expect(report.kept).toMatchObject([{ session: id, why: "its owner lives" }]);
  });

  it("removes the lock of a dead owner without sessions, and not that of a live one", async () => {
    await using place = createLocalPlace();
    const [dead, live] = [place.createRunner().owner, place.createRunner().owner];
    await dead.hold();
    const file = `${dead.record.lock}.json`;
    const written = readFileSync(file);
    await dead.release();
    writeFileSync(file, written);
    await live.hold();

    await place.createRunner().runner.collectGarbage(EVERYTHING);

    const left = readdirSync(join(place.stateDir, "owners")).map((name) => join(place.stateDir, "owners", name));
    expect(left.toSorted()).toEqual([live.record.lock, `${live.record.lock}.json`]);
  });

  it("removes a symlink in place of a home, and not its target", async () => {
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

  it("works for two collectors at once", async () => {
    await using place = createLocalPlace();
    await leaveDeadSession(place);
    const runners = [place.createRunner().runner, place.createRunner().runner];

    const reports = await Promise.all(runners.map((runner) => runner.collectGarbage(EVERYTHING)));

    expect(reports.flatMap(({ failed }) => failed)).toEqual([]);
    expect(await runners[0]?.listSessions()).toEqual([]);
  });
});

function of(changes: object, record: Record): Record {
  return { ...record, owner: { ...(record.owner as object), ...changes } };
}

function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * 3_600_000).toISOString();
}

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
