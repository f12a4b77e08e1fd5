import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { createOwner, createSessionId, type RunnerSession, type StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { connectCluster } from "../src/api/index.ts";
import { createKeptSessions } from "../src/keeping/create-kept-sessions.ts";
import { toMetadata } from "../src/lease/index.ts";
import { createKubernetesRunner, type KubernetesRunnerOptions } from "../src/index.ts";
import { toEndedProcess } from "@budgie/testkit";
import { toObject } from "./helpers/fake-api.ts";
import { RUNNING, serveFakePods, type FakePodsOptions } from "./serve-fake-pods.ts";

/** A runner whose Pods are fakes, and the start of a program there. */
async function begin(fakes: FakePodsOptions = {}, options: Partial<KubernetesRunnerOptions> = {}) {
  const pods = await serveFakePods(fakes);
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-runner-"));
  const directory = join(stateDir, "work");
  mkdirSync(directory);
  const owner = createOwner({ stateDir });
  onTestFinished(async () => {
    await owner.release();
    rmSync(stateDir, { recursive: true });
  });
  const images = { image: "agents", sidecarImage: "budgie" };
  const runner = await createKubernetesRunner({
    kubeconfig: pods.kubeconfig,
    owner,
    stateDir,
    ...images,
    ...options,
  });
  const start = async (session: RunnerSession, more: Partial<StartOptions> = {}) => {
    await session.copy?.().fill((async function* () {})());
    const access = { ...DEFAULT_ACCESS, workspace: "copy" as const };
    const command = { argv: ["agent", "go"] as const, env: {}, projections: [] };
    return session.start(command, { directory, access, input: "", ...more });
  };
  const cluster = await connectCluster({ kubeconfig: pods.kubeconfig });
  return { cluster, pods, runner, start, stateDir };
}

it("a turn runs in a Pod that was proven first, and nothing is left of it at the end", async () => {
  const { pods, runner, start } = await begin();
  const child = await start(await runner.openSession(createSessionId()));
  child.stderr.resume();
  expect(await text(child.stdout)).toBe("agent go\n");
  expect(await child.exit).toMatchObject({ exitCode: 0 });
  await runner.close();
  expect(pods.names()).toEqual([]);
  expect(pods.made[0]?.orders.map(({ argv }) => argv[1])).toEqual(["probe", "probe", "scan", "go"]);
});

it("a Pod that a dead budgie left runs nothing: its session moves to one that was proven", async () => {
  const { pods, runner, start, stateDir } = await begin({}, { keepSessionsMs: 60_000 });
  const dead = createOwner({ stateDir, process: toEndedProcess() });
  const kept = createKeptSessions({ owner: { ...dead, hold: async () => undefined }, stateDir });
  const id = createSessionId();
  await kept.begin(id, 60_000);
  await kept.markStale(id);
  pods.add(toObject("left", { metadata: toMetadata(dead.record, id, "session"), status: RUNNING }));

  const child = await start(await runner.resumeSession(id));
  child.stderr.resume();
  expect(await text(child.stdout)).toBe("agent go\n");
  const [left, next] = pods.made;
  expect([left?.name, left?.orders]).toEqual(["left", []]);
  expect(left?.asked).toContain("file pack");
  expect(pods.names()).not.toContain("pods/left");
  expect(next?.orders.map(({ argv }) => argv[1])).toEqual(["probe", "probe", "scan", "go"]);
  await child.exit;
  await runner.close();
});

it.each([
  ["is removed", "its own", {}],
  ["stays", "another budgie's, which took it over", { labels: { "dev.budgie.instance": "another" } }],
])("a Pod that was lost %s if it is %s", async (what, _whose, metadata) => {
  const { cluster, pods, runner, start } = await begin();
  const session = await runner.openSession(createSessionId());
  const child = await start(session);
  child.stderr.resume();
  await child.exit;
  const [pod] = pods.made;
  await cluster.patch("pods", pod?.name ?? "", { metadata });
  pod?.close();
  const isThere = () => pods.names().includes(`pods/${pod?.name}`);
  if (what === "is removed") await expect.poll(isThere).toBe(false);
  await expect(start(session)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await session.remove();
  expect(isThere()).toBe(what === "stays");
  await runner.close();
});

it("a runner whose Pods could not be watched watches them for the next session", async () => {
  let isForbidden = true;
  const say: FakePodsOptions["say"] = ({ method, url }) =>
    isForbidden && method === "GET" && url.pathname.endsWith("/pods")
      ? { status: 403, json: { message: "not yet" } }
      : undefined;
  const { pods, runner, start } = await begin({ say });
  const starting = start(await runner.openSession(createSessionId()));
  await expect(starting).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  isForbidden = false;
  const child = await start(await runner.openSession(createSessionId()));
  child.stderr.resume();
  expect(await text(child.stdout)).toBe("agent go\n");
  await child.exit;
  await runner.close();
  expect(pods.names()).toEqual([]);
});

it("a program that only prints gets no file and no secret, in a Pod whose walls were not proven", async () => {
  const { pods, runner } = await begin();
  expect(await runner.print(["agent", "--help"])).toBe("agent --help\n");
  const [pod] = pods.made;
  expect(pod?.asked).toEqual(["control hello", "control kernel", "turn"]);
  expect(pod?.orders).toMatchObject([{ argv: ["agent", "--help"], ports: [3128] }]);
  const values = Object.values(pod?.orders[0]?.env ?? {}).join(" ");
  expect(values).not.toMatch(/127\.0\.0\.1|proxy|ca\.pem/i);
  expect(pods.names().filter((name) => name.startsWith("pods/"))).toEqual([]);
  await runner.close();
});

it("a runner that was closed opens nothing, and is closed once", async () => {
  const { pods, runner } = await begin({}, { ahead: 1 });
  const closing = runner.close();
  const refused = { code: "CANCELLED", message: "budgie is shutting down." };
  await expect(runner.openSession(createSessionId())).rejects.toMatchObject(refused);
  await expect(runner.resumeSession(createSessionId())).rejects.toMatchObject(refused);
  await expect(runner.print(["agent"])).rejects.toMatchObject(refused);
  runner.ahead?.prepare();
  expect(runner.ahead?.take()).toBeUndefined();
  await closing;
  const asked = pods.heard.length;
  await runner.close();
  expect(pods.heard.length).toBe(asked);
});

it("a runner with many sessions is closed without a warning of Node's", async () => {
  const { runner } = await begin();
  await Promise.all(Array.from({ length: 12 }, () => runner.openSession(createSessionId())));
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  await runner.close();
  // Warnings are sent in the next tick.
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});

it("a start that waits for its Pod ends with the runner, and so does that Pod", async () => {
  const { pods, runner, start } = await begin({ status: { phase: "Pending" } });
  const starting = start(await runner.openSession(createSessionId()));
  starting.catch(() => undefined);
  await expect.poll(() => pods.made.length).toBe(1);
  await runner.close();
  await expect(starting).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  expect(pods.names()).toEqual([]);
});

it("a session that is taken while the runner ends is nobody's, and is removed", async () => {
  const { pods, runner } = await begin({}, { ahead: 1 });
  runner.ahead?.prepare();
  await expect.poll(() => runner.ahead?.count().sessions).toBe(1);
  const taken = runner.ahead?.take();
  await runner.close();
  expect(await taken).toBeUndefined();
  expect(pods.names()).toEqual([]);
});

/** Answers in place of a Pod whose agent neither ends nor can be stopped. */
const hang: FakePodsOptions["answer"] = (word, _stream, pod) =>
  word === "control stop" || (word === "turn" && pod.orders.at(-1)?.argv[0] === "agent");

it("a proof that takes long ends with the runner, and with its Pod", async () => {
  const answer: FakePodsOptions["answer"] = (word, _stream, pod) =>
    word === "control stop" || (word === "turn" && pod.orders.at(-1)?.argv[1] === "scan");
  const { pods, runner, start } = await begin({ answer });
  const starting = start(await runner.openSession(createSessionId()));
  starting.catch(() => undefined);
  await expect.poll(() => pods.made[0]?.orders.at(-1)?.argv[1]).toBe("scan");
  await runner.close();
  await expect(starting).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  expect(pods.names()).toEqual([]);
});

it("an agent that cannot be stopped ends with its Pod when the runner does", async () => {
  const { pods, runner, start } = await begin({ answer: hang });
  const child = await start(await runner.openSession(createSessionId()));
  child.exit.catch(() => undefined);
  await runner.close();
  expect(pods.names()).toEqual([]);
});

it("an agent of a kept session that cannot be stopped stays in its Pod, for the next runner", async () => {
  const { pods, runner, start } = await begin({ answer: hang }, { keepSessionsMs: 60_000, closeMs: 200 });
  const child = await start(await runner.openSession(createSessionId()));
  child.exit.catch(() => undefined);
  const code = "RUNNER_UNAVAILABLE";
  await expect(runner.close()).rejects.toMatchObject({ code, message: expect.stringContaining("within 0.2 seconds") });
  expect(pods.names().filter((name) => name.startsWith("pods/"))).toEqual([`pods/${pods.made[0]?.name}`]);
});
