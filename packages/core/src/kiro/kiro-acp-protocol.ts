import { BudgieError } from "../errors.ts";
import { createTail } from "../protocol/bounded-output.ts";
import { toTurnPrompt } from "../protocol/prompt-templates.ts";
import type { OnOutput, Protocol, ProtocolTurn } from "../protocol/protocol.ts";
import type { Command, Exit, RunnerSession } from "../runner/runner.ts";
import { findTurnFiles } from "./agent-files.ts";
import { toKiroAcpCommand, toKiroEnv, toModel, toV2AcpFlags, type KiroAcpProgram } from "./kiro-command.ts";
import { findFlagsFor } from "./help/kiro-flags.ts";
import { toKiroAcpFailure } from "./kiro-failure.ts";
import type { KiroOptions } from "./kiro-protocol.ts";
import { createTransportCheck } from "./session-protocol.ts";
import { toV3Program } from "./v3-program.ts";

/** Creates a protocol of programs that speak ACP. */
export type CreateAcp = (options: { readonly toProgram: (turn: ProtocolTurn) => Promise<KiroAcpProgram> }) => Protocol;

/**
 * Creates the protocol of Kiro over ACP: one `kiro-cli acp` for each prompt. The answer is the agent's last message. The protocol throws
 * `AGENT_NOT_FOUND` if Kiro falls back to another agent, as V2 does for an unknown name, or if another harness answers.
 */
export function createKiroAcpProtocol(options: KiroOptions, createAcp: CreateAcp): Protocol {
  const toProgram = options.harness === "v3" ? toV3Program : toV2Program;
  const commands = new WeakMap<RunnerSession, Command>();
  const acp = createAcp({
    async toProgram(turn) {
      const program = await toProgram(options, turn);
      commands.set(turn.session, program.command);
      return program;
    },
  });
  const checkTransport = createTransportCheck("acp", options.harness ?? "v2");
  return async (turn) => {
    await checkTransport(turn);
    const warnings = [...findTurnFiles(options, turn.agent).warnings, ...toHooksWarnings(options, turn)];
    const { workspace } = turn.session.paths(turn.directory);
    const prompt = toTurnPrompt(turn.prompt, options.prompts, { workspace, responseFile: undefined });
    const said = createRecord(turn.onOutput);
    try {
      const answer = await acp({ ...turn, prompt, onOutput: said.onOutput });
      return { ...answer, warnings: [...warnings, ...answer.warnings] };
    } catch (error) {
      throw toFailure(error, { turn, options, stderr: said.text("stderr"), warnings });
    } finally {
      const log = { argv: commands.get(turn.session)?.argv ?? [], prompt, said };
      if (options.verbose) await turn.session.appendFile(`chat-${turn.session.id}.txt`, toLog(log));
    }
  };
}

async function toV2Program(options: KiroOptions, turn: ProtocolTurn): Promise<KiroAcpProgram> {
  const { agent, directory, session } = turn;
  const { binary, projections, trustAllTools } = options;
  const flags = await findFlagsFor(options.findFlags, turn);
  const command = toKiroAcpCommand({
    binary,
    harness: toV2AcpFlags(flags),
    agent: agent.name,
    model: toModel(agent, options),
    trustAllTools,
    env: toKiroEnv(options, session.paths(directory).home, agent.shown),
    projections: [...projections, ...findTurnFiles(options, agent).projections],
  });
  // Kiro asks only for what the agent's own `allowedTools` leaves open.
  return { command, permission: trustAllTools ? "allow" : "deny", mode: agent.name, kiro: { harness: "v2" } };
}

/** Returns a warning about hooks that V3 does not run: it takes none with an agent. One with guards is refused. */
function toHooksWarnings({ harness }: KiroOptions, { agent: { hooks = [] } }: ProtocolTurn): readonly string[] {
  if (harness !== "v3" || hooks.length === 0) return [];
  return [`Kiro's V3 harness did not run the agent's hooks, of which there are ${hooks.length}.`];
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

type Said = { readonly argv: readonly string[]; readonly prompt: string; readonly said: TurnRecord };

function toLog({ argv, prompt, said }: Said): string {
  const parts = [
    `=== ${new Date().toISOString()} ${argv.join(" ")}`,
    `--- prompt\n${prompt}`,
    `--- messages\n${said.text("stdout")}`,
    `--- stderr\n${said.text("stderr")}\n`,
  ];
  return `${parts.join("\n")}\n`;
}
