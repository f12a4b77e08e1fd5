import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { readCopy, startFaultCluster, type FaultCluster, type FaultRunner } from "./faults/fault-cluster.ts";
import { ANSWER, holdStages, STAGES, type HeldStages, type Stage } from "./faults/hold-stages.ts";

const lack = findClusterLack();
const NAME = "outages";
const PATIENT = { timeout: 60_000, interval: 500 };
/** The stages whose turn may fail: nothing of it has begun, and it can be tried again. */
const FAILING: readonly Stage[] = ["asks for a Pod", "has a Pod of which it was not told", "opens the wire"];
/** Stages in which budgie waits for an answer a minute at most, or half a minute, and which are held later. */
const SHORT: readonly Stage[] = [
  "greets its Pod",
  "proves the walls",
  "reads the copy",
  "removes its Pod",
  "has removed its Pod and was not told",
];
const LAST: Stage = "waits for its Pod";

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
      const isLong = (stage: Stage): boolean => ![...SHORT, ...FAILING, LAST].includes(stage);
      for (const some of [stages.filter(isLong), SHORT, FAILING, [LAST]]) await Promise.all(some.map(held.hold));
      cluster.server.signal("kube-apiserver", "KILL");
      held.lose();
    }, 200_000);

    it.each(stages.filter((stage) => !FAILING.includes(stage)))(
      "%s",
      async (stage) => expect(await held.answerOf(stage)).toBe(ANSWER),
      120_000,
    );

    it(`${FAILING.join(", ")}: that turn is answered or fails, and the next one is answered`, async () => {
      const isReady = () => cluster.kubectl("get", "--raw=/readyz").catch(String);
      const failure = {
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/Check .* It was the Pod "budgie-/),
      };
      const tryAgain = async (stage: Stage): Promise<string> => {
        const answer = await held.answerOf(stage).catch((error: unknown) => error);
        // A Pod whose start the cluster had not told of yet is connected to once more when it does.
        if (typeof answer === "string") return answer;
        expect(answer).toMatchObject(failure);
        await expect.poll(isReady, PATIENT).toBe("ok");
        return held.runTurn(stage);
      };
      expect(await Promise.all(FAILING.map(tryAgain))).toEqual(FAILING.map(() => ANSWER));
    }, 120_000);

    it("and has no Pod of them", async () => {
      await expect.poll(() => cluster.kubectl("get", "pods", "-o", "name"), PATIENT).toBe("");
      await held[Symbol.asyncDispose]();
      await cluster.expectNothingLeft();
    }, 150_000);
  });

  /** Starts a turn that writes to its copy and does not end by itself, and resolves once it has. */
  async function begin({ openSession }: FaultRunner) {
    const session = await openSession();
    const child = await cluster.start(session, "echo kept > file; echo up; sleep 1000");
    await once(child.stdout, "data");
    const [pod = ""] = await cluster.findPods(session);
    return { session, pod, exit: child.exit.catch((error: unknown) => error) };
  }

  const kill = (program: RegExp): void => {
    const found = cluster.listProcesses().filter(({ argv }) => program.test(argv));
    expect(found).toHaveLength(1);
    for (const { pid } of found) process.kill(pid, "SIGKILL");
  };

  it("says that the agent crashed whose container is killed, and goes on with what it had in another Pod", async () => {
    await using own = await cluster.createRunner();
    const { exit, pod, session } = await begin(own);
    kill(/^\/budgie\/hold /);

    expect(await exit).toMatchObject({ code: "AGENT_CRASHED", message: expect.stringContaining(pod) });
    expect(await readCopy(session)).toBe("file: kept\n");
    expect(await text((await cluster.start(session, "cat file")).stdout)).toBe("kept\n");
    expect(await cluster.findPods(session)).not.toContain(pod);
    await session.remove();
    expect(await cluster.findPods(session)).toEqual([]);
  }, 100_000);

  it("says that the agent crashed if budgie's own container is killed, and has no process of it", async () => {
    await using own = await cluster.createRunner();
    const { exit, pod, session } = await begin(own);
    kill(/ \/opt\/budgie\/pod\.cjs /);

    expect(await exit).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringMatching(`"${pod}" failed: .*"budgie" ended with 137`),
    });
    await expect.poll(cluster.listProcesses, PATIENT).toEqual([]);
    await expect(cluster.start(session, "true")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await session.remove();
    expect(await cluster.findPods(session)).toEqual([]);
  }, 100_000);

  it("says that the agent crashed whose Pod is evicted", async () => {
    await using own = await cluster.createRunner();
    const { exit, pod, session } = await begin(own);
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod } };
    const path = `/api/v1/namespaces/${NAME}/pods/${pod}/eviction`;
    await cluster.server.kubectl(["create", "--raw", path, "-f", "-"], JSON.stringify(eviction));

    expect(await exit).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringMatching(`"${pod}" was disrupted by the cluster: Eviction API`),
    });
    await expect(cluster.start(session, "true")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await expect.poll(() => cluster.findPods(session), PATIENT).toEqual([]);
  }, 100_000);

  it("loses nothing of a turn whose kubelet is killed, and starts another one meanwhile", async () => {
    await using own = await cluster.createRunner();
    const [printing, fresh] = [await own.openSession(), await own.openSession()];
    const child = await cluster.start(printing, "seq 300000; echo last");
    await once(child.stdout, "readable");
    cluster.server.signal("kubelet", "KILL");
    const starting = cluster.start(fresh, "echo fresh");

    const lines = (await text(child.stdout)).split("\n");
    expect([lines.length, lines[0], lines.at(-3), lines.at(-2)]).toEqual([300_002, "1", "300000", "last"]);
    expect(new Set(lines).size).toBe(lines.length);
    expect(await child.exit).toMatchObject({ exitCode: 0 });
    expect(await text((await starting).stdout)).toBe("fresh\n");
  }, 100_000);

  it("ends what waits for a kubelet that is stopped, names the node, and has no Pod once it goes on", async () => {
    await using own = await cluster.createRunner();
    await using hasty = await cluster.createRunner({ waitMs: 10_000 });
    const idle = await own.openSession();
    await (
      await cluster.start(idle, "true")
    ).exit;
    const running = await begin(own);
    const fresh = await hasty.openSession();
    // A turn may run before kubelet has told so, and a silent kubelet never does.
    const phase = () => cluster.kubectl("get", "pod", running.pod, "-o", "jsonpath={.status.phase}");
    await expect.poll(phase, PATIENT).toBe("Running");
    cluster.server.signal("kubelet", "STOP");
    try {
      const [lost, late, full] = await Promise.all([
        running.exit,
        cluster.start(idle, "true").catch((error: unknown) => error),
        cluster.start(fresh, "true").catch((error: unknown) => error),
      ]);
      expect(lost).toMatchObject({
        code: "AGENT_CRASHED",
        message: expect.stringMatching(`"${running.pod}" was lost with its node "${NAME}"`),
      });
      const [pod = ""] = await cluster.findPods(idle);
      expect(late).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining(pod) });
      expect(full).toMatchObject({ code: "QUEUE_FULL", message: expect.stringContaining(`on the node "${NAME}"`) });
    } finally {
      cluster.server.signal("kubelet", "CONT");
    }
    await Promise.all([idle.remove(), running.session.remove(), fresh.remove()]);
    await expect.poll(() => cluster.kubectl("get", "pods", "-o", "name"), PATIENT).toBe("");
  }, 300_000);

  it("has nothing left", () => cluster.expectNothingLeft(), 150_000);
});
