import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createSessionId, type SessionId } from "@budgie/core";
import { BASE_IMAGE } from "../helpers/docker-place.ts";
import { createGarbagePlace, HOUR_MS, outcomesOf, SWEEP } from "./garbage-place.ts";

const garbage = createGarbagePlace();
const { collect, isThere, leaveContainer, leaveHome, leaveVolume, makeOwner, place } = garbage;
afterAll(() => garbage[Symbol.asyncDispose]());

describe("collecting garbage of an engine", () => {
  it.each([
    ["whose process has this one's number, from before it", { started: "1" }, false],
    ["whose process is this one, and has lost its lock", {}, true],
    ["whose process is in another pid namespace", { pidNamespace: "1" }, true],
    ["with another boot, which may be another machine's with this one's id", { boot: "earlier" }, true],
  ])("decides on an owner %s", async (_what, process, stays) => {
    const left = await leaveHome(makeOwner({}, process));

    const report = await collect();

    expect(outcomesOf(left, report)).toEqual([stays ? "kept volume" : "removed volume"]);
    expect(await isThere(left)).toBe(stays);
  });

  it("uses the register's keep time of a session that another owner resumed with a longer or shorter one", async () => {
    const dead = makeOwner({}, { started: "1" });
    const [longer, shorter] = [
      await leaveHome(dead, { hours: 2, keepMs: HOUR_MS }),
      await leaveHome(dead, { hours: 2, keepMs: 9 * HOUR_MS }),
    ];
    const keepMs = { [longer.session]: 9 * HOUR_MS, [shorter.session]: HOUR_MS };
    const sessions = async (id: SessionId) => ({
      owner: makeOwner({}, { started: "2" }),
      usedMs: Date.now() - 2 * HOUR_MS,
      keepMs: keepMs[id],
    });

    const report = await collect({ ...SWEEP, sessions });

    expect([longer, shorter].map((left) => outcomesOf(left, report))).toEqual([["kept volume"], ["removed volume"]]);
  });

  it("keeps what belongs to a live owner, also if labels have its name and another lock", async () => {
    const { owner, runner } = await place.createRunner();
    await owner.hold();
    const live = await leaveHome(owner.record);
    const { instance } = owner.record;
    const proxySockets = join(place.stateDir, "sockets", instance.slice(24));
    const scratch = join(place.stateDir, "scratch", instance);
    for (const folder of [proxySockets, scratch]) mkdirSync(folder, { recursive: true });
    const forged = { ...makeOwner({}, { started: "1" }), instance };
    const likeIt = { ...forged, instance: `${randomUUID().slice(0, 24)}${instance.slice(24)}` };
    const named = await leaveHome(forged);
    await leaveContainer(forged, "session", named);
    const alike = await leaveHome(likeIt);

    const report = await collect();

    expect(outcomesOf(live, report)).toEqual(["kept volume"]);
    expect(outcomesOf(alike, report)).toEqual(["removed volume"]);
    expect([proxySockets, scratch].map((folder) => existsSync(folder))).toEqual([true, true]);
    await runner.close();
    await owner.release();
  });

  it("removes what is from before the reboot, if its lock still exists", async () => {
    const { instance, lock, ...facts } = makeOwner({}, { boot: "earlier" });
    const before = { ...facts, instance, lock: `${lock.slice(0, -36)}${instance.slice(0, 8)}${instance.slice(24)}` };
    mkdirSync(join(place.stateDir, "owners"), { recursive: true });
    // A connection to a plain file is refused, like one to the socket of a dead process.
    writeFileSync(before.lock, "");
    const left = await leaveHome(before);

    expect(outcomesOf(left, await collect())).toEqual(["removed volume"]);
  });

  it.each([
    ["1 h ago", "kept volume", 1, {}],
    ["25 h ago", "removed volume", 25, {}],
    ["in an hour, as a clock that is wrong says", "kept volume", -1, {}],
    ["1 h ago, when it is to go by force", "removed volume", 1, { force: true }],
  ])("of another machine, made %s, is %s", async (...[, outcome, hours, how]) => {
    const left = await leaveHome(makeOwner({ host: "elsewhere" }), { hours });

    expect(outcomesOf(left, await collect({ ...SWEEP, ...how }))).toEqual([outcome]);
  });

  it("keeps everything of a foreign owner that runs a turn or a proxy, at any age and even by force", async () => {
    for (const role of ["turn", "proxy"] as const) {
      const owner = makeOwner({ host: "elsewhere" });
      const [used, unused] = [await leaveHome(owner, { hours: 1000 }), await leaveHome(owner, { hours: 1000 })];
      const id = await leaveContainer(owner, role, used);

      const report = await collect({ ...SWEEP, force: true });
      await (await garbage.docker()).getContainer(id).kill();
      const after = await collect(SWEEP);

      expect([used, unused].map((left) => outcomesOf(left, report))).toEqual([
        ["kept container", "kept volume"],
        ["kept volume"],
      ]);
      expect([used, unused].map((left) => outcomesOf(left, after))).toEqual([
        ["removed container", "removed volume"],
        ["removed volume"],
      ]);
    }
  });

  it("does not take a session container, or a container of a dead process, as a sign of life", async () => {
    const [foreign, dead] = [makeOwner({ host: "elsewhere" }), makeOwner({}, { started: "1" })];
    const [held, running] = [await leaveHome(foreign, { hours: 1000 }), await leaveHome(dead)];
    await leaveContainer(foreign, "session", held);
    await leaveContainer(dead, "turn", running);

    const report = await collect();

    expect(outcomesOf(held, report)).toEqual(["removed container", "removed volume"]);
    expect(outcomesOf(running, report)).toEqual(["removed container", "removed volume"]);
  });

  it("keeps a session of another machine as long as its youngest container or volume is young", async () => {
    const owner = makeOwner({ host: "elsewhere" });
    const left = await leaveHome(owner, { hours: 1000 });
    await leaveVolume(`${left.volume}-auth`, owner, { hours: 1, role: "auth", session: left.session });

    expect(outcomesOf(left, await collect())).toEqual(["kept volume", "kept volume"]);
  });

  it.each([
    [1, "kept volume"],
    [3, "removed volume"],
  ])("a dead owner's session that is kept for 2 h is, %s h after it was last used, %s", async (hours, outcome) => {
    const owner = makeOwner({}, { started: "1" });
    const left = await leaveHome(owner, { hours: 1000, keepMs: 2 * HOUR_MS });
    const sessions = async (id: SessionId) =>
      id === left.session ? { owner, usedMs: Date.now() - hours * HOUR_MS } : undefined;

    expect(outcomesOf(left, await collect({ ...SWEEP, sessions }))).toEqual([outcome]);
  });

  it("keeps a session that a live owner has resumed, whoever created it", async () => {
    const left = await leaveHome(makeOwner({}, { started: "1" }), { hours: 1000, keepMs: HOUR_MS });
    const { owner } = await place.createRunner();
    await owner.hold();
    const sessions = async () => ({ owner: owner.record, usedMs: 0 });

    expect(outcomesOf(left, await collect({ ...SWEEP, sessions }))).toEqual(["kept volume"]);
    expect(outcomesOf(left, await collect())).toEqual(["removed volume"]);
  });

  it("keeps what has no owner in its labels, unless by force", async () => {
    const docker = await garbage.docker();
    const volume = `budgie-test-${randomUUID()}`;
    const session = createSessionId();
    await docker.createVolume({ Name: volume, Labels: { "dev.budgie": "1", "dev.budgie.session": session } });

    expect(outcomesOf({ session, volume }, await collect())).toEqual(["kept volume"]);
    expect(outcomesOf({ session, volume }, await collect({ ...SWEEP, force: true }))).toEqual(["removed volume"]);
  });

  it("keeps a volume that another program's container uses, and reports it", async () => {
    const docker = await garbage.docker();
    const left = await leaveHome(makeOwner({}, { started: "1" }));
    const Mounts = [{ Type: "volume" as const, Source: left.volume, Target: "/x" }];
    const user = await docker.createContainer({ Image: BASE_IMAGE, Cmd: ["true"], HostConfig: { Mounts } });
    onTestFinished(() => user.remove().catch(() => undefined));

    const report = await collect();
    await user.remove();

    expect(outcomesOf(left, report)).toEqual(["kept volume"]);
    expect(report.kept.find(({ name }) => name === left.volume)?.why).toBe("a container uses it");
    expect(outcomesOf(left, await collect())).toEqual(["removed volume"]);
  });

  it("removes a dead owner's files in the state directory after everything else, and no live owner's", async () => {
    const [dead, live] = [(await place.createRunner()).owner, (await place.createRunner()).owner];
    await dead.hold();
    await live.hold();
    const record = readFileSync(`${dead.record.lock}.json`);
    await dead.release();
    writeFileSync(`${dead.record.lock}.json`, record);
    const folders = [dead, live].map(({ record: { instance } }) => [
      join(place.stateDir, "scratch", instance),
      join(place.stateDir, "sockets", instance.slice(24)),
    ]);
    for (const folder of folders.flat()) mkdirSync(folder, { recursive: true });
    const { volume } = await leaveHome(dead.record);
    const stat = (): readonly (readonly boolean[])[] => folders.map((own) => own.map((folder) => existsSync(folder)));

    await collect({ ...SWEEP, olderThanMs: HOUR_MS });
    const young = [...stat(), existsSync(`${dead.record.lock}.json`)];
    const report = await collect();

    expect(young).toEqual([[true, true], [true, true], true]);
    expect(report.removed.map(({ name }) => name)).toContain(volume);
    expect(stat()).toEqual([
      [false, false],
      [true, true],
    ]);
    const locks = readdirSync(join(place.stateDir, "owners"));
    expect(locks.filter((name) => name.startsWith(dead.record.instance.slice(0, 8)))).toEqual([]);
    expect(locks.filter((name) => name.startsWith(live.record.instance.slice(0, 8)))).toHaveLength(2);
  });

  it("can run several times at once without an error", async () => {
    const owner = makeOwner({}, { started: "1" });
    const lefts = await Promise.all(Array.from({ length: 4 }, () => leaveHome(owner)));
    await Promise.all(lefts.map((left) => leaveContainer(owner, "turn", left)));

    const reports = await Promise.all([collect(), collect(), collect()]);

    const outcomes = lefts.map((left) => reports.flatMap((report) => outcomesOf(left, report)));
    expect(outcomes.flat().filter((outcome) => outcome.startsWith("failed"))).toEqual([]);
    expect(await Promise.all(lefts.map(isThere))).toEqual([false, false, false, false]);
  });
});
