import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import {
  createBudgieUser,
  toText,
  waitFor,
  type Budgie,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";

const OFTEN = { BUDGIE_SWEEP_EVERY: "300ms" };
const IN_TIME = { timeout: 15_000, interval: 50 };

/** Kills a budgie with SIGKILL during a turn. */
async function kill(user: BudgieUser, { ask, child, ended }: Budgie): Promise<{ readonly agent: number }> {
  const before = user.kiroCalls().length;
  ask("code-reviewer", { prompt: "[[sleep 60000]]" }).catch(() => undefined);
  const { pid } = await waitFor(() => user.kiroCalls()[before]);
  child.kill("SIGKILL");
  await ended;
  return { agent: pid };
}

const toStateDir = ({ host }: BudgieUser, ...path: readonly string[]): string =>
  join(host.home, ".local", "state", "budgie", ...path);

describe("a budgie without a sandbox", () => {
  it("ends the agent of a killed one and removes its session and lock, and nothing of a live one", async () => {
    await using user = await createBudgieUser();
    const heir = await user.start({ env: OFTEN });
    const live = await user.start({ env: { BUDGIE_SWEEP_EVERY: "0" } });
    const { structuredContent } = await live.ask("code-reviewer", { prompt: "Keep the word token-lark." });
    const { agent } = await kill(user, await user.start());
    const left = { sessions: readdirSync(user.sessionsDir), locks: readdirSync(toStateDir(user, "owners")) };

    await heir.client.callTool({ name: "kiro-subagents.health-check", arguments: {} });

    await expect.poll(() => readdirSync(user.sessionsDir), IN_TIME).toEqual([structuredContent?.["sessionId"]]);
    await expect.poll(() => readdirSync(toStateDir(user, "owners")), IN_TIME).toHaveLength(2);
    expect([left.sessions.length, left.locks.length]).toEqual([2, 4]);
    expect(isAlive(agent)).toBe(false);
    const sessionId = structuredContent?.["sessionId"];
    expect(toText(await live.ask("code-reviewer", { prompt: "[[recall]]", sessionId }))).toBe("token-lark");
  });

  it("reports once what it cannot remove, and answers anyway", async () => {
    await using user = await createBudgieUser();
    const broken = toStateDir(user, "local-sessions", "00000000-0000-4000-8000-000000000000.json");
    mkdirSync(toStateDir(user, "local-sessions"), { recursive: true });
    writeFileSync(broken, "{");
    const { ask, stderr } = await user.serve({ env: OFTEN });
    const dead = await user.start();

    await ask("code-reviewer", { prompt: "Hello" });
    await waitFor(() => stderr().includes("will try again"));
    await kill(user, dead);
    // Another sweep has ended.
    await expect.poll(() => readdirSync(user.sessionsDir), IN_TIME).toHaveLength(1);

    expect(
      stderr()
        .split("\n")
        .filter((line) => line.includes("will try again")),
    ).toEqual([expect.stringMatching(/^budgie: Could not remove everything .*: folder .*\.json: /)]);
    expect(toText(await ask("code-reviewer", { prompt: "[[say: Here.]]" }))).toBe("Here.");
    expect(existsSync(broken)).toBe(true);
  });

  it("ends its own sessions that were idle for longer than --session-ttl", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ env: OFTEN, args: ["--session-ttl", "1s"] });
    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });
    const before = readdirSync(user.sessionsDir);

    await expect.poll(() => readdirSync(user.sessionsDir), IN_TIME).toEqual([]);

    const answer = await ask("code-reviewer", { prompt: "Hello", sessionId: structuredContent?.["sessionId"] });
    expect(before).toHaveLength(1);
    expect(toText(answer)).toMatch(/^SESSION_NOT_FOUND: /);
  });

  it("keeps a killed budgie's session for that budgie's keep time, and no longer", async () => {
    await using user = await createBudgieUser();
    const heir = await user.serve({ env: OFTEN });
    const [long, short] = [
      ["--session-ttl", "1h"],
      ["--session-ttl", "3s"],
    ] as const;
    const kept: unknown[] = [];
    for (const args of [long, short]) {
      const { ask, child, ended } = await user.start({ args: ["--keep-sessions", ...args] });
      kept.push((await ask("code-reviewer", { prompt: "Hello" })).structuredContent?.["sessionId"]);
      child.kill("SIGKILL");
      await ended;
    }
    const left = readdirSync(user.sessionsDir);

    await heir.client.callTool({ name: "kiro-subagents.health-check", arguments: {} });

    await expect.poll(() => readdirSync(user.sessionsDir), IN_TIME).toEqual([kept[0]]);
    expect(new Set(left)).toEqual(new Set(kept));
  });
});
