import { BudgieError } from "../errors.ts";
import type { Agent } from "../agents/agent.ts";
import { createTail } from "../protocol/bounded-output.ts";
import { toTurnPrompt } from "../protocol/prompt-templates.ts";
import type { OnOutput, Protocol, ProtocolTurn } from "../protocol/protocol.ts";
import type { Command, Exit } from "../runner/runner.ts";
import { findTurnFiles } from "./agent-files.ts";
import { toKiroAcpCommand, toModel } from "./kiro-command.ts";
import { toKiroAcpFailure } from "./kiro-failure.ts";
import type { KiroOptions } from "./kiro-protocol.ts";
import { createTransportCheck } from "./session-protocol.ts";

/** Kiro's program as one that speaks ACP. */
export type KiroAcpProgram = {
  readonly command: Command;
  readonly permission: "allow" | "deny";
  /** The agent's name, which Kiro calls a mode */
  readonly mode: string;
};

/** Creates a protocol of programs that speak ACP. */
export type CreateAcp = (options: { readonly toProgram: (agent: Agent) => KiroAcpProgram }) => Protocol;

/**
 * Creates the protocol of Kiro over ACP: one `kiro-cli acp` for each prompt. The answer is the agent's last message. The protocol throws
 * `AGENT_NOT_FOUND` if Kiro falls back to another agent, as it does for an unknown name.
 */
export function createKiroAcpProtocol(options: KiroOptions, createAcp: CreateAcp): Protocol {
  const acp = createAcp({ toProgram: (agent) => toProgram(options, agent) });
  const checkTransport = createTransportCheck("acp");
  return async (turn) => {
    await checkTransport(turn);
    const { warnings } = findTurnFiles(options, turn.agent);
    const { workspace } = turn.session.paths(turn.directory);
    const prompt = await toTurnPrompt(turn.prompt, options.prompts, { workspace, responseFile: undefined });
    const said = createRecord(turn.onOutput);
    try {
      const answer = await acp({ ...turn, prompt, onOutput: said.onOutput });
      return { ...answer, warnings: [...warnings, ...answer.warnings] };
    } catch (error) {
      throw toFailure(error, { turn, options, stderr: said.text("stderr"), warnings });
    } finally {
      if (options.verbose)
        await turn.session.appendFile(`chat-${turn.session.id}.txt`, toLog(options, turn, { prompt, said }));
    }
  };
}

function toProgram(options: KiroOptions, agent: Agent): KiroAcpProgram {
  const { binary, env, projections, trustAllTools } = options;
  const command = toKiroAcpCommand({
    binary,
    agent: agent.name,
    model: toModel(agent, options),
    trustAllTools,
    env,
    projections: [...projections, ...findTurnFiles(options, agent).projections],
  });
  // Kiro asks only for what the agent's own `allowedTools` leaves open.
  return { command, permission: trustAllTools ? "allow" : "deny", mode: agent.name };
}

const KEPT_BYTES = 64 * 1024;

/** The tail of an agent's output in a turn. */
type TurnRecord = {
  readonly onOutput: OnOutput;
  readonly text: (stream: "stderr" | "stdout") => string;
};

function createRecord(onOutput: OnOutput | undefined): TurnRecord {
  const tails = { stderr: createTail(KEPT_BYTES), stdout: createTail(KEPT_BYTES) };
  return {
    onOutput(chunk, stream) {
      tails[stream].add(chunk);
      onOutput?.(chunk, stream);
    },
    text: (stream) => Buffer.concat(tails[stream].chunks()).toString("utf8"),
  };
}

type Failed = {
  readonly turn: ProtocolTurn;
  readonly options: KiroOptions;
  readonly stderr: string;
  readonly warnings: readonly string[];
};

/** Translates a failure into Kiro's own, and adds the warnings, since a missing file may be why the agent failed. */
function toFailure(error: unknown, { options, stderr, turn, warnings }: Failed): unknown {
  if (!(error instanceof BudgieError)) return error;
  const { exit } = (error.cause ?? {}) as { readonly exit?: Exit };
  const context = { agent: turn.agent.name, binary: options.binary, exitCode: exit?.exitCode, stderr };
  const failure = toKiroAcpFailure(error, context);
  return Object.assign(failure, { report: { ...failure.report, warnings } });
}

type Said = { readonly prompt: string; readonly said: TurnRecord };

function toLog(options: KiroOptions, { agent }: ProtocolTurn, { prompt, said }: Said): string {
  const { argv } = toProgram(options, agent).command;
  const parts = [
    `=== ${new Date().toISOString()} ${argv.join(" ")}`,
    `--- prompt\n${prompt}`,
    `--- messages\n${said.text("stdout")}`,
    `--- stderr\n${said.text("stderr")}\n`,
  ];
  return `${parts.join("\n")}\n`;
}
