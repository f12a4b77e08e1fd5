import { expect, it } from "vitest";
import { createLeaseJudge } from "../../src/lease/create-lease-judge.ts";
import { holdLease } from "../../src/lease/hold-lease.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";
import { connectFakeApi, toObject, type Said } from "../helpers/fake-api.ts";

const OWNER = { instance: "one", host: "here", lock: "/state/one" };
const HELD: Said = { status: 200, json: toObject("budgie-one", { spec: { holderIdentity: "one" } }) };

/** Holds a lease on a server that answers renewals in this way. */
async function hold(renewal: (index: number) => Said) {
  const clock = createFakeClock();
  let renewals = 0;
  const { cluster, heard } = await connectFakeApi(({ method }) =>
    method === "PATCH" ? renewal(renewals++) : method === "GET" ? { status: 404 } : HELD,
  );
  const lease = await holdLease(cluster, OWNER, clock);
  const methods = () => heard.map(({ method }) => method);
  return { clock, lease, heard, methods };
}

it("is renewed every 10 s, names itself as an owner, and is removed at the end", async () => {
  const { clock, heard, lease, methods } = await hold(() => HELD);
  expect(lease.reference).toMatchObject({ kind: "Lease", name: "budgie-one", uid: "uid-budgie-one" });
  for (const count of [1, 2, 3]) {
    clock.advance(10_000);
    await expect.poll(() => methods().filter((method) => method === "PATCH").length).toBe(count);
    // The next renewal waits for the answer to this one.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(lease.isFresh()).toBe(true);
  expect(JSON.parse(heard[1]?.body ?? "")).toMatchObject({ metadata: { uid: "uid-budgie-one" } });
  await lease.release();
  expect(lease.isFresh()).toBe(false);
  expect(await lease.ended).toBeUndefined();
  expect(methods().at(-2)).toBe("DELETE");
});

it("is not fresh once it was not renewed for 60 s, and again when the cluster is back", async () => {
  const { clock, lease } = await hold((index) => (index === 0 ? { status: 500 } : HELD));
  clock.advance(59_999);
  expect(lease.isFresh()).toBe(true);
  clock.advance(1);
  expect(lease.isFresh()).toBe(false);
  await expect.poll(() => (clock.advance(10_000), lease.isFresh())).toBe(true);
});

it.each([401, 403])("goes on once the cluster takes its credentials again, after a refusal with %s", async (status) => {
  let isRefused = true;
  const { clock, heard, lease } = await hold(() => (isRefused ? { status } : HELD));
  clock.advance(60_000);
  await expect.poll(() => heard.length).toBeGreaterThan(1);
  expect(lease.isFresh()).toBe(false);
  isRefused = false;
  await expect.poll(() => (clock.advance(10_000), lease.isFresh())).toBe(true);
});

it.each<[string, string, string]>([
  ["one", "is held", "of which the answer was lost"],
  ["two", "did not create", "of another holder"],
])("a lease that exists already by the holder %s %s: one %s", async (holderIdentity, outcome) => {
  const { cluster } = await connectFakeApi(({ method }) =>
    method === "POST"
      ? { status: 409, json: { reason: "AlreadyExists" } }
      : { status: 200, json: toObject("budgie-one", { spec: { holderIdentity } }) },
  );
  const said = await holdLease(cluster, OWNER, createFakeClock()).then(
    ({ reference }) => `is held: ${reference.uid}`,
    (error: Error) => error.message,
  );
  expect(said).toContain(outcome);
});

it.each<[string, Said]>([
  ["was removed", { status: 404 }],
  ["has another uid", { status: 409 }],
  ["has another holder", { status: 200, json: toObject("budgie-one", { spec: { holderIdentity: "two" } }) }],
])("is over when it %s", async (_, answer) => {
  const { clock, lease } = await hold(() => answer);
  clock.advance(10_000);
  expect(await lease.ended).toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(lease.isFresh()).toBe(false);
});

it("counts as abandoned after 240 s without a change, by the watcher's clock", () => {
  const clock = createFakeClock();
  const judge = createLeaseJudge(clock);
  const lease = { uid: "a", resourceVersion: "1" };
  expect(judge.isAbandoned(lease)).toBe(false);
  clock.advance(239_999);
  expect(judge.isAbandoned(lease)).toBe(false);
  expect(judge.isAbandoned({ ...lease, resourceVersion: "2" })).toBe(false);
  clock.advance(239_999);
  expect(judge.isAbandoned({ ...lease, resourceVersion: "2" })).toBe(false);
  clock.advance(1);
  expect(judge.isAbandoned({ ...lease, resourceVersion: "2" })).toBe(true);
});
