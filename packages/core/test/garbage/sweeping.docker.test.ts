import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import {
  createBudgieUser,
  toText,
  waitFor,
  type Budgie,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";
import { connectEngine, type Engine } from "../../../runner-docker/src/engine/engine.ts";
import type { HttpEngineProxy } from "../../../runner-docker/test/helpers/http-engine-proxy.ts";
import { createEngineWithOwnLabels } from "../../../runner-docker/test/helpers/own-labels.ts";
import { listTracesBelow } from "../../../cli/test/helpers/engine.ts";

const sandbox = true;
// Containers made ahead for a live budgie's next calls are not garbage.
const NONE_AHEAD = { BUDGIE_AHEAD: "0" };
const IN_TIME = { timeout: 20_000, interval: 200 };

const stateOf = (user: BudgieUser, folder: string): readonly string[] => {
  const path = join(user.host.home, ".local", "state", "budgie", folder);
  return existsSync(path) ? readdirSync(path).toSorted() : [];
};

// Others on the engine would collect the garbage before the code under test.
let engine: HttpEngineProxy;
let docker: Engine["docker"];
beforeAll(async () => {
  engine = await createEngineWithOwnLabels();
  ({ docker } = await connectEngine(engine.hostEnv, homedir()));
});
afterAll(() => engine[Symbol.asyncDispose]());

/** Starts a budgie that makes nothing ahead. */
const start = (user: BudgieUser, env = {}): Promise<Budgie> =>
  user.start({ sandbox, env: { ...engine.hostEnv, ...NONE_AHEAD, ...env } });

const listTraces = ({ host }: BudgieUser): Promise<readonly string[]> => listTracesBelow(host.home, docker);

/** Lists a sandboxed budgie's files in the state directory. */
const listState = (user: BudgieUser): readonly string[] =>
  ["owners", "sockets", "scratch"].flatMap((folder) => stateOf(user, folder).map((name) => join(folder, name)));

async function listKept(user: BudgieUser): Promise<readonly string[]> {
  return (await listTraces(user)).filter((name) => !name.includes("budgie-turn-")).toSorted();
}

/** Kills a budgie with SIGKILL that has one idle session and one at work. */
async function abandon(user: BudgieUser, budgie: Budgie): Promise<void> {
  await budgie.ask("code-reviewer", { prompt: "Hello" });
  const file = `at-work-${budgie.child.pid}`;
  budgie.ask("code-reviewer", { prompt: `[[write ${file}: yes]][[sleep 60000]]` }).catch(() => undefined);
  await waitFor(() => existsSync(join(user.workspace, file)));
  budgie.child.kill("SIGKILL");
  await budgie.ended;
}

type Live = { readonly budgie: Budgie; readonly sessionId: unknown; readonly traces: readonly string[] };

async function startLive(user: BudgieUser): Promise<Live> {
  const budgie = await start(user);
  const { structuredContent } = await budgie.ask("code-reviewer", { prompt: "Keep the word token-wren." });
  return { budgie, sessionId: structuredContent?.["sessionId"], traces: await listKept(user) };
}

const recall = async ({ budgie, sessionId }: Live): Promise<string> =>
  toText(await budgie.ask("code-reviewer", { prompt: "[[recall]]", sessionId }));

describe("a budgie on the engine of another that was killed", () => {
  it("removes nothing at its start, and all garbage after its first call, but nothing of a live third", async () => {
    await using user = await createBudgieUser();
    const live = await startLive(user);
    const liveState = listState(user);
    await abandon(user, await start(user));
    const left = await listKept(user);
    const leftState = listState(user);
    const heir = await start(user, { BUDGIE_SWEEP_EVERY: "10m" });
    await heir.client.listTools();
    // Longer than a sweep waits after a call.
    await sleep(2_500);
    const afterStart = { engine: await listKept(user), state: listState(user) };

    await heir.client.callTool({ name: "kiro-subagents.health-check", arguments: {} });

    await expect.poll(() => listTraces(user), IN_TIME).toHaveLength(live.traces.length);
    expect(left.length).toBeGreaterThan(live.traces.length);
    expect(leftState.length).toBeGreaterThan(liveState.length);
    expect(afterStart).toEqual({ engine: left, state: leftState });
    expect((await listTraces(user)).toSorted()).toEqual(live.traces);
    await expect.poll(() => listState(user), IN_TIME).toEqual(liveState);
    expect(await recall(live)).toBe("token-wren");
    expect(heir.stderr()).not.toContain("left behind");
  });

  it("also sweeps at intervals, and answers its calls meanwhile", async () => {
    await using user = await createBudgieUser();
    const live = await startLive(user);
    const heir = await start(user, { BUDGIE_SWEEP_EVERY: "500ms" });
    await heir.ask("code-reviewer", { prompt: "Hello" });
    const both = [...(await listKept(user))];

    for (let times = 0; times < 2; times++) {
      await abandon(user, await start(user));
      await expect.poll(() => listTraces(user), IN_TIME).toHaveLength(both.length);
      expect(toText(await heir.ask("code-reviewer", { prompt: "[[say: Here.]]" }))).toBe("Here.");
      both.push(...(await listKept(user)).filter((name) => !both.includes(name)));
    }

    expect(await recall(live)).toBe("token-wren");
    expect(heir.stderr()).not.toContain("left behind");
  });
});

describe("budgie gc", () => {
  it("keeps a young session of another machine, and removes it with --force", async () => {
    await using user = await createBudgieUser();
    const session = createSessionId();
    const name = `budgie-session-${session}`;
    const labels = {
      "": "1",
      ".instance": createSessionId(),
      ".host": "elsewhere",
      ".lock": join(user.host.home, "elsewhere"),
      ".session": session,
      ".role": "home",
      ".created": new Date().toISOString(),
    };
    const Labels = Object.fromEntries(Object.entries(labels).map(([key, value]) => [`dev.budgie${key}`, value]));
    await docker.createVolume({ Name: name, Labels });

    const first = await user.run(["gc"], engine.hostEnv);
    const before = await listTraces(user);
    const second = await user.run(["gc", "--force", "--json"], engine.hostEnv);

    expect(first.stdout).toMatch(new RegExp(`^kept volume ${name}: its owner is on another machine .*--force$`, "m"));
    expect(before).toEqual([name]);
    expect(JSON.parse(second.stdout).removed).toContainEqual({ kind: "volume", name, session });
    expect(await listTraces(user)).toEqual([]);
  });
});
