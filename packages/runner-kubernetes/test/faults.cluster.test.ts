import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { readCopy, startFaultCluster, type FaultCluster } from "./faults/fault-cluster.ts";
import { ANSWER, holdStages, STAGES, type HeldStages, type Stage } from "./faults/hold-stages.ts";

const lack = findClusterLack();
const NAME = "outages";
/** The stages whose turn fails: nothing of it has begun, and it can be tried again. */
const FAILING: readonly Stage[] = ["asks for a Pod", "has a Pod of which it was not told", "opens the wire"];
/** Requests wait for an answer for so long only, and come last. */
const SHORT: readonly Stage[] = [
  ...FAILING,
  "greets its Pod",
  "proves the walls",
  "removes its Pod",
  "has removed its Pod and was not told",
];

describe.skipIf(lack !== undefined)("a cluster that breaks", () => {
  let cluster: FaultCluster;

  beforeAll(async () => {
    cluster = await startFaultCluster(NAME);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  describe("loses nothing of a turn, does nothing twice, and leaves nothing if its API server is killed while a session", () => {
    let held: HeldStages;
    const stages = Object.keys(STAGES) as Stage[];

    beforeAll(async () => {
      held = await holdStages(cluster);
      const last: Stage = "waits for its Pod";
      await Promise.all(stages.filter((stage) => stage !== last && !SHORT.includes(stage)).map(held.hold));
      await Promise.all(SHORT.map(held.hold));
      await held.hold(last);
      cluster.server.signal("kube-apiserver", "KILL");
      held.lose();
    }, 200_000);

    it.each(stages)(
      "%s",
      async (stage) => {
        if (FAILING.includes(stage)) {
          await expect(held.answerOf(stage)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
          await expect
            .poll(() => cluster.kubectl("get", "--raw=/readyz").catch(String), { timeout: 60_000 })
            .toBe("ok");
          expect(await held.runTurn(stage)).toBe(ANSWER);
        } else expect(await held.answerOf(stage)).toBe(ANSWER);
      },
      120_000,
    );

    it("and has no Pod of them", async () => {
      await expect.poll(() => cluster.kubectl("get", "pods", "-o", "name"), { timeout: 60_000 }).toBe("");
      await held[Symbol.asyncDispose]();
      await cluster.expectNothingLeft();
    }, 150_000);
  });

  it.each([
    ["agent", /\/hold( |$)/],
    ["sidecar", /node .*pod/],
  ])(
    "has a turn whose %s's container is killed crash",
    async (_whose, argv) => {
      await using own = await cluster.createRunner();
      const session = await own.openSession();
      const child = await cluster.start(session, "echo kept > file; echo up; sleep 1000");
      const [pod = ""] = await cluster.findPods(session);
      await once(child.stdout, "data");
      console.log(cluster.listProcesses());
      const found = cluster.listProcesses().filter((one) => argv.test(one.argv));
      for (const { pid } of found) process.kill(pid, "SIGKILL");
      const at = performance.now();
      const error = await child.exit.catch((reason: unknown) => reason);
      console.log(performance.now() - at, String(error));
      console.log(await readCopy(session).catch(String));
      console.log(
        await cluster
          .start(session, "echo again")
          .then(async (c) => text(c.stdout))
          .catch(String),
      );
      expect(error).toMatchObject({ code: "AGENT_CRASHED", message: expect.stringContaining(`"${pod}"`) });
      await session.remove();
    },
    100_000,
  );

  it("has a turn whose Pod is evicted crash", async () => {
    await using own = await cluster.createRunner();
    const session = await own.openSession();
    const child = await cluster.start(session, "echo up; sleep 1000");
    const [pod = ""] = await cluster.findPods(session);
    await once(child.stdout, "data");
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod } };
    await cluster.server.kubectl(
      ["create", "--raw", `/api/v1/namespaces/${NAME}/pods/${pod}/eviction`, "-f", "-"],
      JSON.stringify(eviction),
    );
    const error = await child.exit.catch((reason: unknown) => reason);
    console.log(String(error));
    expect(error).toMatchObject({ code: "AGENT_CRASHED", message: expect.stringContaining(`"${pod}"`) });
    console.log(await cluster.start(session, "echo again").catch(String));
    await session.remove();
  }, 100_000);

  it("ends turns in time whose kubelet stops, and removes their Pods once it goes on", async () => {
    await using own = await cluster.createRunner();
    await using hasty = await cluster.createRunner({ waitMs: 15_000 });
    const [running, idle, fresh] = [await own.openSession(), await own.openSession(), await hasty.openSession()];
    await text((await cluster.start(idle, "true")).stdout);
    const child = await cluster.start(running, "echo up; sleep 1000");
    await once(child.stdout, "data");
    const [pod = ""] = await cluster.findPods(running);
    cluster.server.signal("kubelet", "STOP");
    const at = performance.now();
    try {
      const say = (name: string, work: Promise<unknown>) =>
        work.catch((e: unknown) => e).then((e) => (console.log(name, performance.now() - at, String(e)), e));
      const [lost, late, full] = await Promise.all([
        say("running", child.exit),
        say("idle", cluster.start(idle, "true")),
        say("fresh", cluster.start(fresh, "true")),
      ]);
      console.log(await cluster.kubectl("get", "pods", "-o", "json"));
      expect(lost).toMatchObject({ code: "AGENT_CRASHED", message: expect.stringContaining(`"${pod}"`) });
      expect(late).toMatchObject({ code: "RUNNER_UNAVAILABLE" });
      expect(full).toMatchObject({ code: "QUEUE_FULL" });
    } finally {
      cluster.server.signal("kubelet", "CONT");
    }
  }, 300_000);

  it("has nothing left", () => cluster.expectNothingLeft(), 150_000);
});
