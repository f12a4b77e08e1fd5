import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createOwner, createSessionId, type Owner } from "@budgie/core";
import { toEndedProcess } from "@budgie/testkit";
import { collectGarbage } from "../../src/lease/collect-garbage.ts";
import { listSessions } from "../../src/lease/list-sessions.ts";
import { toMetadata } from "../../src/lease/to-metadata.ts";
import { connectFakeApi, toList, toObject } from "../helpers/fake-api.ts";

const SESSION = createSessionId();
const POLICY = { olderThanMs: 0, dryRun: false };

const toLease = (name: string, { record }: Pick<Owner, "record">, renewTime = new Date().toISOString()) =>
  toObject(name, { metadata: toMetadata(record, "", "lease"), spec: { renewTime } });
const toPod = (name: string, { record }: Pick<Owner, "record">, lease = "") =>
  toObject(name, {
    metadata: { ...toMetadata(record, SESSION, "session"), ownerReferences: [{ uid: `uid-${lease}` }] },
  });

async function createOwners() {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-gc-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const [own, dead] = [createOwner({ stateDir }), createOwner({ stateDir, process: toEndedProcess() })];
  await own.hold();
  onTestFinished(() => own.release());
  const foreign = { record: { ...dead.record, host: "another" } };
  return { own, dead, foreign };
}

async function connect(leases: readonly object[], pods: readonly object[]) {
  const { cluster, heard } = await connectFakeApi(({ method, url }) => {
    if (method === "DELETE") return { status: 200 };
    if (!url.searchParams.has("labelSelector")) return { status: 404 };
    return toList(...(url.pathname.endsWith("pods") ? pods : leases));
  });
  const deleted = () =>
    heard.flatMap(({ method, url }) => (method === "DELETE" ? [url.pathname.split("/").at(-1)] : []));
  return { cluster, deleted };
}

it("removes the Pods and the lease of a dead owner, and keeps those of a live one", async () => {
  const { dead, own } = await createOwners();
  const { cluster, deleted } = await connect(
    [toLease("old", dead), toLease("new", own)],
    [toPod("a", dead, "old"), toPod("b", own, "new")],
  );
  const dry = await collectGarbage(cluster, { owner: own, policy: { ...POLICY, dryRun: true } });
  expect(dry.removed).toHaveLength(2);
  expect(deleted()).toEqual([]);
  const { failed, kept, removed } = await collectGarbage(cluster, { owner: own, policy: POLICY });
  expect(removed).toEqual([
    { kind: "pod", name: "a", session: SESSION },
    { kind: "lease", name: "old", session: undefined },
  ]);
  expect(kept).toMatchObject([{ name: "b" }, { name: "new" }]);
  expect(failed).toEqual([]);
  expect(deleted()).toEqual(["a", "old"]);
});

it("keeps what a lease of another machine holds, even by force, and a Pod of it that names a dead owner", async () => {
  const { dead, foreign, own } = await createOwners();
  const { cluster, deleted } = await connect([toLease("far", foreign)], [toPod("a", dead, "far")]);
  const { kept } = await collectGarbage(cluster, { owner: own, policy: { ...POLICY, force: true } });
  expect(kept).toHaveLength(2);
  expect(deleted()).toEqual([]);
});

it("removes what another machine left a day ago, and keeps a lease that was renewed since", async () => {
  const { foreign, own } = await createOwners();
  const { cluster, deleted } = await connect(
    [
      toLease("far", foreign, "2020-01-01T00:00:00.000000Z"),
      toLease("near", foreign, new Date(Date.now() - 3_600_000).toISOString()),
    ],
    [],
  );
  await collectGarbage(cluster, { owner: own, policy: POLICY });
  expect(deleted()).toEqual(["far"]);
});

it("keeps a dead owner's Pod whose start the cluster has not told yet for a minute, if its session is kept", async () => {
  const { dead, own } = await createOwners();
  const toLate = (name: string, agoMs: number) => {
    const { metadata } = toPod(name, dead);
    return toObject(name, {
      metadata: { ...metadata, creationTimestamp: new Date(Date.now() - agoMs).toISOString() },
      status: { phase: "Pending" },
    });
  };
  const { cluster } = await connect([], [toLate("late", 30_000), toLate("never", 90_000)]);
  const sessions = async () => ({ owner: dead.record, usedMs: 0, keepMs: 3_600_000 });
  const { kept, removed } = await collectGarbage(cluster, { owner: own, policy: { ...POLICY, sessions } });
  expect(kept).toMatchObject([{ name: "late" }]);
  expect(removed).toMatchObject([{ name: "never" }]);
});

it("keeps what does not say whose it is", async () => {
  const { own } = await createOwners();
  const pod = toObject("a", { metadata: { annotations: { "dev.budgie.owner": "[".repeat(1_000) } } });
  const { cluster } = await connect([], [pod]);
  expect((await collectGarbage(cluster, { owner: own, policy: POLICY })).kept).toMatchObject([{ name: "a" }]);
});

it("lists sessions with the state of their owners", async () => {
  const { dead, own } = await createOwners();
  const { cluster } = await connect([], [toPod("a", dead), toPod("b", own), toObject("c")]);
  expect(await listSessions(cluster, own)).toMatchObject([
    { id: SESSION, home: "a", owner: "dead" },
    { id: SESSION, home: "b", owner: "own" },
  ]);
});
