import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type AgentProcess, type Command, type RunnerSession } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { findClusterLack } from "@budgie/testkit";
import { startRunnerCluster, type RunnerCluster } from "./runner-cluster.ts";

const lack = findClusterLack();
const PATIENT = { timeout: 100_000 };

describe.skipIf(lack !== undefined)("the runner on a cluster", () => {
  let cluster: RunnerCluster;
  let directory: string;
  const kubectl = async (...argv: readonly string[]) =>
    (await cluster.server.kubectl(["-n", cluster.namespace, ...argv])).stdout;

  beforeAll(async () => {
    cluster = await startRunnerCluster("faults");
    directory = join(cluster.place, "work");
    mkdirSync(directory);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  async function openSession(options = {}) {
    const { owner, runner } = await cluster.createRunner(options);
    const session = await runner.openSession(createSessionId());
    const dispose = async () => {
      await runner.close();
      await owner.release();
    };
    return { runner, session, [Symbol.asyncDispose]: dispose };
  }

  async function start(session: RunnerSession, script: string, more: Partial<Command> = {}): Promise<AgentProcess> {
    const copy = session.copy?.();
    if ((await copy?.fillId()) === undefined) await copy?.fill((async function* () {})());
    const command = { argv: ["sh", "-c", script] as const, env: {}, projections: [], ...more };
    const access = { ...DEFAULT_ACCESS, workspace: "copy" as const };
    const child = await session.start(command, { directory, access, input: "" });
    child.stderr.resume();
    return child;
  }

  const findPods = async ({ id }: RunnerSession) => (await cluster.listPods(id)).map(({ name }) => name);

  it("keeps secrets of a turn out of etcd and the audit log, where the Pod is", async () => {
    await using opened = await openSession();
    const secrets = { variable: "canary-in-a-variable", file: "canary-in-a-file", words: "canary-in-an-argument" };
    const child = await start(opened.session, `cat ~/token; echo "$TOKEN ${secrets.words}"`, {
      env: { TOKEN: secrets.variable },
      home: [{ path: "token", content: `${secrets.file}\n` }],
    });
    expect(await text(child.stdout)).toBe(`${secrets.file}\n${secrets.variable} ${secrets.words}\n`);

    const [name = ""] = await findPods(opened.session);
    for (const place of [cluster.server.auditLog, cluster.server.storage]) {
      const found = [name, ...Object.values(secrets)].filter((word) => hasText(place, word));
      expect(found).toEqual([name]);
    }
  }, 100_000);

  it("says that a turn's memory was used up, and goes on with the session", async () => {
    await using opened = await openSession();
    const child = await start(opened.session, "perl -e '$x = q(x) x 2**30; sleep 5'; exit $?");
    expect(await child.exit).toMatchObject({ reason: "out-of-memory", oomKilled: true });
    expect(await text((await start(opened.session, "echo again")).stdout)).toBe("again\n");
  }, 100_000);

  it("says that the agent crashed when its Pod is deleted, and begins no second Pod for what was lost", async () => {
    await using opened = await openSession();
    const child = await start(opened.session, "echo up; sleep 100");
    await once(child.stdout, "data");
    await kubectl("delete", "pods", ...(await findPods(opened.session)), "--wait=false");
    await expect(child.exit).rejects.toMatchObject({ code: "AGENT_CRASHED" });
    await expect(start(opened.session, "true")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await expect.poll(() => findPods(opened.session), PATIENT).toEqual([]);
  }, 200_000);

  it("opens a session from a Pod that was ready in a fraction of the time of a new one", async () => {
    const { owner, runner } = await cluster.createRunner({ ahead: 1 });
    const time = async (session: RunnerSession): Promise<number> => {
      const began = performance.now();
      expect(await text((await start(session, "echo one")).stdout)).toBe("one\n");
      return performance.now() - began;
    };
    runner.ahead?.prepare();
    await expect.poll(() => runner.ahead?.count().sessions, PATIENT).toBe(1);
    const id = await runner.ahead?.take();
    const ready = await time(await runner.openSession(id ?? createSessionId()));
    await expect.poll(() => runner.ahead?.count().sessions, PATIENT).toBe(1);
    const fresh = await time(await runner.openSession(createSessionId()));
    await runner.close();
    await owner.release();

    expect(ready / fresh).toBeLessThan(0.5);
    expect(await kubectl("get", "pods,leases", "-o", "name")).toBe("");
  }, 200_000);
});

/** Tells if a file, or one below a folder, has a text. */
function hasText(place: string, word: string): boolean {
  const files = place.endsWith(".log") ? [place] : readdirSync(place, { recursive: true, withFileTypes: true });
  return files
    .flatMap((file) => (typeof file === "string" ? [file] : file.isFile() ? [join(file.parentPath, file.name)] : []))
    .some((path) => readFileSync(path).includes(word));
}
