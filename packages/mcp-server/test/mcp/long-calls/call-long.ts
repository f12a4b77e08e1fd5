import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { waitFor, type Budgie, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

/** A soft deadline that every call of a test outlasts. */
export const SOON = ["--soft-deadline", "1s"];

/** A soft deadline that leaves time to cancel a run on a slow machine. */
export const LATER = ["--soft-deadline", "5s"];

/** The result for a run that continues. */
type RunningFields = { readonly runId: string; readonly sessionId: string; readonly phase: string };

/** Makes calls that outlast their client's timeout, and collects the runs that continue after them. */
export function callLong(user: BudgieUser, { ask, client }: Pick<Budgie, "ask" | "client">) {
  async function use(
    tool: "cancel" | "status" | "wait",
    input: Readonly<Record<string, unknown>>,
  ): Promise<CallToolResult> {
    return (await client.callTool({ name: `kiro-subagents.${tool}`, arguments: { ...input } })) as CallToolResult;
  }

  async function begin(answer: string, input: Readonly<Record<string, unknown>> = {}): Promise<RunningFields> {
    const prompt = `[[run: until test -e gate; do sleep 0.1; done]]${answer}`;
    const { structuredContent = {} } = await ask("shell-worker", { prompt, ...input });
    const { runId, status } = structuredContent;
    if (status !== "running") throw new Error(`The call was over at once: ${JSON.stringify(structuredContent)}`);
    return waitFor(async () => {
      const { runs } = (await use("status", { runId })).structuredContent as {
        readonly runs: readonly RunningFields[];
      };
      return runs.find(({ phase }) => phase === "waiting" || phase === "running");
    });
  }

  /** Waits for a run as often as it takes. */
  async function collect(runId: unknown): Promise<CallToolResult> {
    const result = await use("wait", { runId });
    return result.structuredContent?.["status"] === "running" ? collect(runId) : result;
  }

  /** Calls an agent, and waits for its answer if that comes after the soft deadline. */
  async function askToEnd(input: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
    const result = await ask("shell-worker", input);
    const { runId, status } = result.structuredContent ?? {};
    return status === "running" ? collect(runId) : result;
  }

  return {
    use,
    collect,
    askToEnd,
    /** Calls an agent that works until the gate opens; resolves when the call was answered and the agent began or waits */
    begin,
    /** The agent's process, once it runs */
    agent: () => waitFor(() => user.kiroCalls()[0]),
    openGate: () => writeFileSync(join(user.workspace, "gate"), ""),
  };
}
