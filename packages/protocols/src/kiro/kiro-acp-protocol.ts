import { BudgieError, type Command, type Exit, type RunnerSession } from "@budgie/core";
import { createTail, buildTurnPrompt, type Protocol, type ProtocolTurn } from "@budgie/core/protocol";
import { findTurnFiles } from "./agent-files.ts";
import {
  buildKiroAcpCommand,
  buildKiroEnv,
  chooseModel,
  chooseV2AcpFlags,
  type KiroAcpProgram,
} from "./build-kiro-command.ts";
import { findFlagsFor } from "./help/kiro-flags.ts";
import { toKiroAcpFailure } from "./find-kiro-failure.ts";
import type { KiroOptions } from "./kiro-protocol.ts";
import { createTransportCheck } from "./transport-check.ts";
import { loadV3Program } from "./load-v3-program.ts";

/** Creates a protocol of programs that speak ACP. */
export type CreateAcp = (options: { readonly toProgram: (turn: ProtocolTurn) => Promise<KiroAcpProgram> }) => Protocol;

/**
 * Creates the protocol of Kiro over ACP: one `kiro-cli acp` for each prompt. The answer is the agent's last message. The protocol throws
 * `AGENT_NOT_FOUND` if Kiro falls back to another agent, as V2 does for an unknown name, or if another harness answers.
 */
export function createKiroAcpProtocol(options: KiroOptions, createAcp: CreateAcp): Protocol {
  const toProgram = options.harness === "v3" ? loadV3Program : loadV2Program;
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
    const warnings = [...findTurnFiles(options, turn.agent).warnings, ...warnOfHooks(options, turn)];
    const { workspace } = turn.session.paths(turn.directory);
    const prompt = buildTurnPrompt(turn.prompt, options.prompts, { workspace, responseFile: undefined });
    const said = createRecord();
    turn.events.on("output", said.add);
    try {
      const answer = await acp({ ...turn, prompt });
      return { ...answer, warnings: [...warnings, ...answer.warnings] };
    } catch (error) {
      throw toFailure(error, { turn, options, stderr: said.text("stderr"), warnings });
    } finally {
      turn.events.off("output", said.add);
      const log = { argv: commands.get(turn.session)?.argv ?? [], prompt, said };
      if (options.verbose) await turn.session.appendFile(`chat-${turn.session.id}.txt`, formatLog(log));
    }
  };
}

async function loadV2Program(options: KiroOptions, turn: ProtocolTurn): Promise<KiroAcpProgram> {
  const { agent, directory, session } = turn;
  const { binary, projections, trustAllTools } = options;
  const flags = await findFlagsFor(options.findFlags, turn);
  const command = buildKiroAcpCommand({
    binary,
    harness: chooseV2AcpFlags(flags),
    agent: agent.name,
    model: chooseModel(agent, options),
    trustAllTools,
    env: buildKiroEnv(options, session.paths(directory).home, agent.shown),
    projections: [...projections, ...findTurnFiles(options, agent).projections],
  });
  // Kiro asks only for what the agent's own `allowedTools` leaves open.
  return { command, permission: trustAllTools ? "allow" : "deny", mode: agent.name, kiro: { harness: "v2" } };
}

/** Returns a warning about hooks that V3 does not run: it takes none with an agent. One with guards is refused. */
function warnOfHooks({ harness }: KiroOptions, { agent: { hooks = [] } }: ProtocolTurn): readonly string[] {
  if (harness !== "v3" || hooks.length === 0) return [];
  return [`Kiro's V3 harness did not run the agent's hooks, of which there are ${hooks.length}.`];
}

const KEPT_BYTES = 64 * 1024;

/** The tail of an agent's output in a turn. */
type OutputTail = {
  readonly add: (chunk: Buffer, stream: "stderr" | "stdout") => void;
  readonly text: (stream: "stderr" | "stdout") => string;
};

function createRecord(): OutputTail {
  const tails = { stderr: createTail(KEPT_BYTES), stdout: createTail(KEPT_BYTES) };
  return {
    add: (chunk, stream) => tails[stream].add(chunk),
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

type Said = { readonly argv: readonly string[]; readonly prompt: string; readonly said: OutputTail };

function formatLog({ argv, prompt, said }: Said): string {
  const parts = [
    `=== ${new Date().toISOString()} ${argv.join(" ")}`,
    `--- prompt\n${prompt}`,
    `--- messages\n${said.text("stdout")}`,
    `--- stderr\n${said.text("stderr")}\n`,
  ];
  return `${parts.join("\n")}\n`;
}
