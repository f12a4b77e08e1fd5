import { toExitError, toReason } from "../profile/exit-error.ts";
import { decideTool } from "../agent/decide-tool.ts";
import { passesGuards } from "../agent/run-hooks.ts";
import type { ToolCall } from "../agent/tool-call.ts";
import type { Turn } from "./turn.ts";

/** The abilities of a turn of the scripted model: text and tools. */
export type Stage = {
  /** Adds a piece to the answer, to be printed later */
  readonly say: (piece: string) => void;
  /** Prints the pieces that were not printed yet */
  readonly flush: () => Promise<void>;
  /** Prints the rest; after a tool call the answer always ends with text, repeated if needed */
  readonly conclude: () => Promise<void>;
  /** Runs the work if the agent may use the tool */
  readonly useTool: (call: ToolCall, work: () => string | Promise<string>) => Promise<ToolUse>;
  readonly answer: () => string;
};

/** The outcome of a tool call; `result` is its output, or the reason why it failed. */
type ToolUse = { readonly outcome: "done" | "failed" | "denied" | "missing"; readonly result: string };

/** Creates the stage of a turn. */
export function createStage({ output, agent, policy, settings }: Turn): Stage {
  const said: string[] = [];
  let printed = 0;
  let inMessage = false;

  async function print(pieces: readonly string[]): Promise<void> {
    if (pieces.length === 0) return;
    const text = `${inMessage ? "\n" : ""}${pieces.join("\n")}`;
    inMessage = true;
    for (const line of text.split(/(?<=\n)/)) await output.text(line);
  }

  async function flush(): Promise<void> {
    const pieces = said.slice(printed);
    printed = said.length;
    await print(pieces);
  }

  async function refuse(call: ToolCall): Promise<ToolUse> {
    await output.toolDenied(call);
    inMessage = false;
    if (settings.profile === "q1") throw toExitError(1, NEEDS_APPROVAL);
    return { outcome: "denied", result: "" };
  }

  return {
    say: (piece) => said.push(piece),
    flush,
    async conclude() {
      await (printed === said.length && !inMessage ? print(said) : flush());
    },
    async useTool(call, work) {
      const decision = decideTool(call, { ...policy, agent });
      if (decision === "missing") return { outcome: "missing", result: "" };
      const isApproved = decision === "unclear" && (await output.approve?.(call)) === true;
      if (decision !== "allowed" && !isApproved) return refuse(call);
      // Those of V3 need a client that asks for hooks.
      if (policy.v3 === undefined && !(await passesGuards(agent)))
        return { outcome: "failed", result: "a hook blocked it" };
      await output.toolStarted(call, isApproved);
      inMessage = false;
      try {
        const result = await work();
        await output.toolFinished(call, result);
        return { outcome: "done", result };
      } catch (error) {
        await output.toolFailed(call, toReason(error));
        return { outcome: "failed", result: toReason(error) };
      }
    },
    answer: () => said.join("\n"),
  };
}

const NEEDS_APPROVAL =
  "error: Tool approval required but --no-interactive was specified. " +
  "Use --trust-all-tools to automatically approve tools.";
