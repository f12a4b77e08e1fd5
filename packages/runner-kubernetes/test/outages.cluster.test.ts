import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type Owner, type Runner, type RunnerSession } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { findClusterLack } from "@budgie/testkit";
import { watchApi, type WatchedApi } from "./helpers/watch-api.ts";
import { listProcessesIn } from "./list-processes-in.ts";
import { startRunnerCluster, type RunnerCluster } from "./runner-cluster.ts";

const lack = findClusterLack();
const NAME = "outages";
const PATIENT = { timeout: 100_000 };
const SCRIPT = 'read -r word; echo "$word" >> turns; seq 20000; cat turns';
const NUMBERS = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join("");

const FILLED = "end file fill";
/** The stages of a turn, by what passes the API server first in each. */
const STAGES: Readonly<Record<string, (what: string, before: readonly string[]) => boolean>> = {
  "asks for its Pod": (what) => what === "POST",
  "has its Pod and is not told": (what) => what === "answer to POST",
  "opens the wire": (what) => what === "exec",
  "greets the Pod": (what) => what === "open control hello",
  "proves its walls": (what) => what === "open turn",
  "fills the copy": (what) => what === "open file fill",
  "starts the agent": (what, before) => what === "open turn" && before.includes(FILLED),
  "hears the agent": (what, before) => what === "data turn" && before.includes(FILLED),
  "hears the agent's end": (what, before) => what === "end turn" && before.includes(FILLED),
  "reads the copy": (what) => what === "open file pack",
  "removes its Pod": (what) => what === "DELETE",
  "has removed its Pod and is not told": (what) => what === "answer to DELETE",
};
const NEVER: Readonly<Record<string, RegExp>> = {};

describe.skipIf(lack !== undefined)("an API server that is killed while a session", () => {
  let cluster: RunnerCluster;
  let api: WatchedApi;
  let own: { readonly owner: Owner; readonly runner: Runner };
  const sessions = new Map<string, Held>();
  const kubectl = async (...argv: readonly string[]) =>
    (await cluster.server.kubectl(["-n", cluster.namespace, ...argv])).stdout;

  beforeAll(async () => {
    cluster = await startRunnerCluster(NAME);
    mkdirSync(join(cluster.place, "work"));
    let kill: () => void = () => undefined;
    const killed = new Promise<void>((resolve) => (kill = resolve));
    api = await watchApi(cluster.server.kubeconfig, async ({ pod, what }) => {
      const held = [...sessions.values()].find(({ session }) => pod.startsWith(`budgie-${session.id.slice(0, 8)}-`));
      if (held === undefined || held.isOver || !held.isAt(what, held.before)) {
        held?.before.push(what);
        return true;
      }
      held.isOver = true;
      held.reach();
      console.log(new Date().toISOString(), held.stage, what);
      await killed;
      return false;
    });
    own = await cluster.createRunner({ kubeconfig: api.kubeconfig });
    const all = await Promise.all(Object.entries(STAGES).map(([stage, isAt]) => begin(stage, isAt)));
    await Promise.all(all.map(({ reached }) => reached));
    const waiting = await begin("waits for its Pod", () => false);
    await waiting.reached;
    cluster.server.signal("kube-apiserver", "KILL");
    kill();
    console.log(new Date().toISOString(), "killed");
  }, 300_000);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  }, 60_000);

  type Held = {
    readonly stage: string;
    readonly session: RunnerSession;
    readonly isAt: (what: string, before: readonly string[]) => boolean;
    readonly before: string[];
    isOver: boolean;
    readonly reach: () => void;
    readonly reached: Promise<void>;
    readonly ended: Promise<unknown>;
  };

  async function begin(stage: string, isAt: Held["isAt"]): Promise<Held> {
    const session = await own.runner.openSession(createSessionId());
    let reach: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const held: Held = { stage, session, isAt, before: [], isOver: false, reach, reached, ended: Promise.resolve() };
    if (stage === "waits for its Pod") session.hearWaits?.(reach);
    sessions.set(stage, held);
    const ended = runTurn(session).catch((error: unknown) => error);
    ended.then((e) => console.log(new Date().toISOString(), stage, String(e).slice(0, 300)));
    const all = { ...held, ended };
    return Object.assign(held, all);
  }

  async function runTurn(session: RunnerSession): Promise<string> {
    const copy = session.copy?.();
    await copy?.fill((async function* () {})());
    const access = { ...DEFAULT_ACCESS, workspace: "copy" as const };
    const command = { argv: ["sh", "-c", SCRIPT] as const, env: {}, projections: [] };
    const child = await session.start(command, { directory: join(cluster.place, "work"), access, input: "once\n" });
    child.stderr.resume();
    const [said, { exitCode }] = await Promise.all([text(child.stdout), child.exit]);
    const files: string[] = [];
    for await (const { content, entry } of copy?.read() ?? []) {
      files.push(`${entry.path}: ${content === undefined ? "" : await text(content)}`);
    }
    await session.remove();
    return `${said.replace(NUMBERS, "numbers\n")}${exitCode} ${files.join()}`;
  }

  it.each([...Object.keys(STAGES), "waits for its Pod"])("%s", async (stage) => {
    const { ended, session } = sessions.get(stage) as Held;
    if (NEVER[stage] === undefined) expect(await ended).toBe("numbers\nonce\n0 turns: once\n");
    else {
      expect(await ended).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringMatching(NEVER[stage]) });
      expect(await runTurn(session)).toBe("numbers\nonce\n0 turns: once\n");
    }
  }, 120_000);

  it("leaves nothing", async () => {
    await expect.poll(() => kubectl("get", "pods", "-o", "name"), PATIENT).toBe("");
    await own.runner.close();
    await own.owner.release();
    expect(await kubectl("get", "pods,leases", "-o", "name")).toBe("");
    await expect.poll(() => listProcessesIn(`/budgie-cluster-${NAME}/`, "kubepods"), PATIENT).toEqual([]);
  }, 150_000);
});
