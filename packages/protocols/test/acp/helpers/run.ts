import type { Agent } from "@budgie/core";
import { TurnEvents, type ProtocolAnswer, type ProtocolTurn } from "@budgie/core/protocol";
import type { UsageReport } from "@budgie/core/runs";
import { createAcpProtocol, type AcpProgram } from "../../../src/acp/index.ts";
import type { ScriptedAgent } from "./scripted-agent.ts";

export type RunOptions = Partial<
  Pick<ProtocolTurn, "directory" | "offered" | "events" | "prompt" | "resume" | "signal" | "timeoutMs">
> &
  Partial<Pick<AcpProgram, "command" | "kiro" | "mode" | "model" | "permission" | "tokenBasis">> & {
    readonly startTimeoutMs?: number;
    readonly cancelTimeoutMs?: number;
  };

const COMMAND: AcpProgram["command"] = { argv: ["coder-acp"], env: {}, projections: [] };

/** Runs a turn with an agent. */
export async function run(
  { session }: Pick<ScriptedAgent, "session">,
  options: RunOptions = {},
): Promise<ProtocolAnswer> {
  const {
    cancelTimeoutMs,
    command = COMMAND,
    kiro,
    mode,
    model,
    permission = "allow",
    startTimeoutMs,
    tokenBasis,
    ...turn
  } = options;
  const protocol = createAcpProtocol({
    toProgram: () => ({ command, permission, kiro, mode, model, tokenBasis }),
    startTimeoutMs,
    cancelTimeoutMs,
  });
  return protocol({
    agent: AGENT,
    session,
    directory: "/project",
    prompt: "Do it",
    resume: false,
    timeoutMs: 60_000,
    signal: undefined,
    events: new TurnEvents(),
    ...turn,
  });
}

/** Runs a turn, however it ends, and returns the last report of its cost. */
export async function reportedBy(
  agent: Pick<ScriptedAgent, "session">,
  options: RunOptions = {},
): Promise<UsageReport | undefined> {
  let last: UsageReport | undefined;
  const events = new TurnEvents().on("usage", (report) => void (last = report));
  await run(agent, { ...options, events }).catch(() => undefined);
  return last;
}

export const AGENT: Agent = {
  name: "coder",
  description: "Codes.",
  whenToUse: "",
  file: "/nowhere/coder.json",
  promptFile: undefined,
  writesFiles: true,
  model: undefined,
  hasModel: false,
};
