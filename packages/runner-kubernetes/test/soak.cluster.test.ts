import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type Runner } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { findClusterLack } from "@budgie/testkit";
import type { KubernetesRunnerOptions } from "../src/index.ts";
import { askAgent, runSoakUser, type SoakFaults, type SoakTurn } from "./helpers/soak-user.ts";
import { listProcessesIn } from "./list-processes-in.ts";
import { startRunnerCluster, type RunnerCluster } from "./runner-cluster.ts";

const lack = findClusterLack();
const NAME = "soak";
const SEED = Number(process.env["BUDGIE_TEST_SEED"] ?? 38);
const USERS = 4;
const TURNS = 25;
const PATIENT = { timeout: 60_000, interval: 300 };
const LIMIT_MS = 240_000;
/** The ends of a turn whose Pod was deleted: the sidecar closes its connection, and the cluster may say why too late. */
const LOST = ["AGENT_CRASHED", "RUNNER_UNAVAILABLE", "SESSION_UNUSABLE"];

describe.skipIf(lack !== undefined)("many turns on a cluster", () => {
  let cluster: RunnerCluster;
  let directory: string;
  const kubectl = async (...argv: readonly string[]) =>
    (await cluster.server.kubectl(["-n", cluster.namespace, ...argv])).stdout;
  const findPods = async (session: string) => (await cluster.listPods(session)).map(({ name }) => name);
  const listProcesses = () => listProcessesIn(`/budgie-cluster-${NAME}/`, "kubepods");

  beforeAll(async () => {
    cluster = await startRunnerCluster(NAME);
    directory = join(cluster.place, "work");
    mkdirSync(directory);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  async function withRunner<T>(
    options: Partial<KubernetesRunnerOptions>,
    use: (runner: Runner) => Promise<T>,
  ): Promise<T> {
    const { owner, runner } = await cluster.createRunner(options);
    try {
      return await orAborted(use(runner), AbortSignal.timeout(LIMIT_MS));
    } finally {
      await runner.close();
      await owner.release();
    }
  }

  async function expectNothingLeft(): Promise<void> {
    await expect.poll(() => kubectl("get", "pods,leases,pvc", "-o", "name"), PATIENT).toBe("");
    await expect.poll(listProcesses, PATIENT).toEqual([]);
    expect(readdirSync(join(cluster.place, "state", "kubernetes-sessions"))).toEqual([]);
  }

  it("loses, doubles and mixes up no answer of 100 turns that are cancelled, cut off, moved and killed", async () => {
    let cuts = 0;
    const faults: SoakFaults = {
      cut() {
        const bridges = listProcesses().filter(({ argv }) => /\/hold bridge /.test(argv));
        for (const { pid } of bridges) process.kill(pid, "SIGKILL");
        cuts += bridges.length;
      },
      async delete(session) {
        const pods = await findPods(session);
        if (pods.length > 0) await kubectl("delete", "pods", "--ignore-not-found", "--wait=false", ...pods);
      },
      leave: (session) => expect.poll(() => findPods(session), PATIENT).toEqual([]),
    };
    const turns = await withRunner({ podIdleMs: 1_000 }, (runner) => {
      const users = Array.from({ length: USERS }, (_, index) =>
        runSoakUser({ runner, faults, directory, name: `user${index}`, seed: SEED + index, turns: TURNS }),
      );
      return Promise.all(users);
    });
    const all = turns.flat();

    expect(all.filter((turn) => turn.isWrong || !isExplained(turn))).toEqual([]);
    expect(all).toHaveLength(USERS * TURNS);
    // Faults that hit nothing would show nothing.
    const ends = new Set(all.map(({ end }) => end));
    expect([cuts > 10, ends.has("CANCELLED"), LOST.some((end) => ends.has(end))]).toEqual([true, true, true]);
    await expectNothingLeft();
  }, 400_000);

  it("answers 12 sessions that begin at once where a quota has room for 4 Pods", async () => {
    await kubectl("create", "quota", "four", "--hard=pods=4");
    const waits: string[] = [];
    const tokens = Array.from({ length: 12 }, (_, index) => `token-${index}`);
    const answers = await withRunner({ waitMs: LIMIT_MS }, (runner) => {
      const ask = async (token: string): Promise<string> => {
        const session = await runner.openSession(createSessionId());
        session.hearWaits?.((why) => void waits.push(why));
        const { end, said } = await askAgent(session, { argv: ["cat"], directory, input: token });
        await session.remove();
        return `${end} ${said}`;
      };
      return Promise.all(tokens.map(ask));
    });
    await kubectl("delete", "quota", "four");

    expect(answers).toEqual(tokens.map((token) => `answered ${token}`));
    expect(waits).toContainEqual(expect.stringContaining("exceeded quota"));
    await expectNothingLeft();
  }, 400_000);
});

/** Tells if a turn ended as its fault lets it. */
function isExplained({ end, isLoose, kind }: SoakTurn): boolean {
  if (end === "answered") return true;
  if (kind === "cancelled" && end === "CANCELLED") return true;
  return isLoose && LOST.includes(end);
}
