import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { createOwner, createSessionId, type Owner, type SessionId } from "@budgie/core";
import { toEndedProcess } from "@budgie/testkit";
import { createKeptSessions } from "../../src/keeping/create-kept-sessions.ts";
import { toMetadata } from "../../src/lease/index.ts";
import { collectKubernetesGarbage, openKubernetesHomes } from "../../src/maintenance/index.ts";
import { connectFakeApi, toList, toObject } from "../helpers/fake-api.ts";

const [KEPT, RUNNING] = [createSessionId(), createSessionId()];
const toPod = (session: SessionId, { record }: Pick<Owner, "record">) =>
  toObject(`pod-${session}`, {
    metadata: toMetadata(record, session, "session"),
    status: { phase: "Running", containerStatuses: [{ state: { running: {} } }] },
  });

/** A session that was packed and has a Pod again, and one that never left its Pod, both of a dead owner. */
async function setUp() {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-homes-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const [owner, dead] = [createOwner({ stateDir }), createOwner({ stateDir, process: toEndedProcess() })];
  onTestFinished(() => owner.release());
  await createKeptSessions({ owner: { ...dead, hold: async () => undefined }, stateDir }).begin(KEPT, undefined);
  const pods = [toPod(KEPT, dead), toPod(RUNNING, dead)];
  const { cluster, heard } = await connectFakeApi(({ method, url }) => {
    if (method === "DELETE") return { status: 200 };
    const selector = url.searchParams.get("labelSelector");
    if (selector === null) return { status: 404 };
    const [, of] = selector.split("dev.budgie.session=");
    const isAsked = (pod: (typeof pods)[number]) => of === undefined || pod.metadata.name.endsWith(of);
    return toList(...(url.pathname.endsWith("pods") ? pods.filter(isAsked) : []));
  });
  const deleted = () =>
    heard.flatMap(({ method, url }) => (method === "DELETE" ? [url.pathname.split("/").at(-1)] : []));
  return { cluster, dead, deleted, owner, stateDir };
}

it("Sessions of a cluster are those of the state folder and of Pods, each once", async () => {
  const { cluster, owner, stateDir } = await setUp();

  const all = await openKubernetesHomes({ owner, stateDir, cluster }).list();
  const ofFolder = await openKubernetesHomes({ owner, stateDir, cluster: undefined }).list();

  expect(all.map(({ id, owner: state }) => [id, state])).toEqual([
    [KEPT, "dead"],
    [RUNNING, "dead"],
  ]);
  expect(ofFolder.map(({ id }) => id)).toEqual([KEPT]);
});

it("Removing a session removes its Pod, and what is kept of it", async () => {
  const { cluster, deleted, owner, stateDir } = await setUp();
  const homes = openKubernetesHomes({ owner, stateDir, cluster });

  await homes.remove(KEPT);

  expect(deleted()).toEqual([`pod-${KEPT}`]);
  expect((await openKubernetesHomes({ owner, stateDir, cluster: undefined }).list()).length).toBe(0);
});

it("A Pod is named for a session that runs in it, and no home of a Pod is exported", async () => {
  const { cluster, owner, stateDir } = await setUp();
  const homes = openKubernetesHomes({ owner, stateDir, cluster });

  expect([...(await homes.measure([RUNNING]))]).toMatchObject([[RUNNING, { pod: `pod-${RUNNING}` }]]);
  const packing = homes.pack(KEPT, new PassThrough(), { signal: new AbortController().signal });
  await expect(packing).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
});

it("Garbage of the state folder is collected without a cluster", async () => {
  const { owner, stateDir } = await setUp();
  const policy = { olderThanMs: 0, dryRun: false };

  const { removed } = await collectKubernetesGarbage({ cluster: undefined, owner, stateDir, policy });

  expect(removed.map(({ kind, session }) => [kind, session])).toEqual([["folder", KEPT]]);
});

it("A session that may be in a Pod is kept as long as no cluster can be asked, unless that is forced", async () => {
  const { cluster, dead, owner, stateDir } = await setUp();
  await createKeptSessions({ owner: { ...dead, hold: async () => undefined }, stateDir }).markStale(KEPT);
  const policy = { olderThanMs: 0, dryRun: false };
  const collect = (asked: typeof cluster | undefined, more = {}) =>
    collectKubernetesGarbage({ cluster: asked, owner, stateDir, policy: { ...policy, ...more } });

  const report = await collect(undefined);
  expect([report.removed, report.kept.map(({ session }) => session)]).toEqual([[], [KEPT]]);
  expect(report.kept[0]?.why).toContain("no cluster was asked");
  const forced = await collect(undefined, { dryRun: true, force: true });
  expect(forced.removed.map(({ session }) => session)).toEqual([KEPT]);
  expect((await collect(cluster)).removed.map(({ kind }) => kind)).toEqual(["pod", "pod", "folder"]);
});

it("Garbage is collected in both places", async () => {
  const { cluster, owner, stateDir } = await setUp();

  const { removed } = await collectKubernetesGarbage({
    cluster,
    owner,
    stateDir,
    policy: { olderThanMs: 0, dryRun: false },
  });

  expect(removed.map(({ kind, session }) => [kind, session])).toEqual([
    ["pod", KEPT],
    ["pod", RUNNING],
    ["folder", KEPT],
  ]);
});

it("A session that another budgie may resume in its Pod is kept there, with its record", async () => {
  const { cluster, dead, deleted, owner, stateDir } = await setUp();
  const kept = createKeptSessions({ owner: { ...dead, hold: async () => undefined }, stateDir });
  await kept.markStale(KEPT);
  const use = { owner: dead.record, usedMs: Date.now(), keepMs: 60_000 };
  const sessions = async (id: SessionId) => (id === KEPT ? use : undefined);

  const report = await collectKubernetesGarbage({
    cluster,
    owner,
    stateDir,
    policy: { olderThanMs: 0, dryRun: false, sessions },
  });

  expect(report.kept.map(({ kind, session }) => [kind, session])).toEqual([
    ["pod", KEPT],
    ["folder", KEPT],
  ]);
  expect(deleted()).toEqual([`pod-${RUNNING}`]);
});
