import type { ChildProcess } from "node:child_process";
import { describe, expect, it } from "vitest";
import { listTraces, openEngine } from "../../../cli/test/helpers/engine.ts";
import {
  createBudgieUser,
  toEngineVariables,
  waitFor,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";

const KEEPING = ["--keep-sessions"];

describe("what is kept ready for a call", () => {
  it("is a session once the tools are listed and the next turn of one, which ps counts and the end of budgie removes", async () => {
    await using user = await createBudgieUser();
    const { ask, client } = await user.start({ sandbox: true, args: KEEPING });
    expect(await listTraces(user)).toEqual([]);
    await client.listTools();
    await waitFor(() => isKept(user, "1 session"));
    const [ready] = (await listTraces(user)).flatMap(
      (name) => /^budgie-session-([0-9a-f-]{36})-auth$/.exec(name) ?? [],
    );

    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });
    await waitFor(() => isKept(user, "1 session and 1 turn"));
    await client.close();

    expect(ready).toBe(`budgie-session-${String(structuredContent?.["sessionId"])}-auth`);
    await waitFor(async () => (await listTraces(user)).length === 1);
    const kept = await listTraces(user);
    for (const name of kept) await (await openEngine()).getVolume(name).remove();
    expect(kept).toEqual([`budgie-session-${String(structuredContent?.["sessionId"])}`]);
  });

  it("is garbage if budgie is killed, also if sessions are kept", async () => {
    await using user = await createBudgieUser();
    const { child, client } = await user.start({ sandbox: true, args: KEEPING });
    await client.listTools();
    await waitFor(() => isKept(user, "1 session"));

    expect(await listAfterKill(user, child)).toEqual([]);
  });

  it("is garbage if budgie is killed while a next turn waits, whose container ends by itself", async () => {
    await using user = await createBudgieUser();
    const { ask, child } = await user.start({ sandbox: true });
    await ask("code-reviewer", { prompt: "Hello" });
    await waitFor(async () => (await user.command(["ps"])).stdout.endsWith("1 turn.\n"));
    const turn = (await listTraces(user)).find((name) => name.startsWith("/budgie-turn-")) ?? "/none";
    const container = (await openEngine()).getContainer(turn.slice(1));

    child.kill("SIGKILL");
    await waitFor(async () => !(await container.inspect()).State.Running);

    expect(await listAfterKill(user, child)).toEqual([]);
  });
});

/** Kills a budgie, and lists what is left after a garbage collection. */
async function listAfterKill(user: BudgieUser, child: ChildProcess): Promise<readonly string[]> {
  child.kill("SIGKILL");
  await waitFor(() => child.signalCode !== null);
  expect((await user.run(["gc"], toEngineVariables())).stdout).toContain("removed");
  return listTraces(user);
}

async function isKept(user: BudgieUser, what: string): Promise<boolean> {
  return (await user.command(["ps"])).stdout === `Nothing runs.\nKept ready: ${what}.\n`;
}
