import { randomUUID } from "node:crypto";
import { BudgieError, type Command, type Projection } from "@budgie/core";
import {
  buildSummaryPrompt,
  buildTurnPrompt,
  type PromptFiles,
  type PromptPaths,
  type Protocol,
  type ProtocolAnswer,
  type ProtocolTurn,
  runToEnd,
  type Finished,
  type BoundedOutput,
  type OutputFiles,
} from "@budgie/core/protocol";
import { formatCount } from "@budgie/core/text";
import { findTurnFiles } from "./agent-files.ts";
import {
  buildKiroCommand,
  buildKiroEnv,
  chooseModel,
  chooseV2ChatFlags,
  type KiroModels,
} from "./build-kiro-command.ts";
import { findFlagsFor, type FindKiroFlags } from "./help/kiro-flags.ts";
import { findKiroFailure, waitsForLogin } from "./find-kiro-failure.ts";
import { extractAnswer, listDeniedTools, listUsedTools, sumUsage } from "./kiro-output.ts";
import { createTransportCheck, type KiroHarness } from "./transport-check.ts";

export type KiroOptions = KiroModels & {
  readonly binary: string;
  readonly trustAllTools: boolean;
  readonly prompts: PromptFiles;
  /** Passed to every run, such as `KIRO_API_KEY` */
  readonly env: Readonly<Record<string, string>>;
  /** Host files and folders that every agent may read */
  readonly projections: readonly Projection[];
  /** The user's home, if agents run in a sandbox: it shows the files below the home's `.kiro` that agents name */
  readonly sandboxHome?: string | undefined;
  /** The harness that must answer, of which `v3` needs ACP; default: `v2` */
  readonly harness?: KiroHarness | undefined;
  /** The folder of Kiro's own files, if agents run without a sandbox and so with its settings */
  readonly kiroFolder?: string | undefined;
  /** Finds the flags that name the harness; default: the program has none */
  readonly findFlags?: FindKiroFlags | undefined;
  /** The files for long outputs; if left out, their middle is discarded */
  readonly outputFiles?: OutputFiles | undefined;
  /** Appends the output of every run to `chat-<id>.txt` in the session's home */
  readonly verbose: boolean;
};

/** Creates the protocol of headless Kiro: one `kiro-cli chat` for each prompt, and another if the answer file is missing. */
export function createKiroProtocol(options: KiroOptions): Protocol {
  const checkTransport = createTransportCheck("cli", "v2");
  return async (turn) => {
    const deadline = performance.now() + turn.timeoutMs;
    const { projections, warnings } = findTurnFiles(options, turn.agent);
    const ownOptions = { ...options, projections: [...options.projections, ...projections] };
    const paths = responsePaths(turn, turn.agent.writesFiles || options.trustAllTools);
    const prompt = buildTurnPrompt(turn.prompt, options.prompts, paths);
    await checkTransport(turn);
    const { resume, timeoutMs } = turn;
    const finished = await run(ownOptions, turn, { prompt, answerFile: paths.responseName, resume, timeoutMs });
    tellUsage(options, turn, [finished]);
    const file = takeFileAnswer(finished);
    const failure = findKiroFailure(finished, {
      agent: turn.agent.name,
      binary: options.binary,
      timeoutMs: turn.timeoutMs,
      answered: file !== undefined,
    });
    // A missing file may be why the agent failed.
    if (failure !== undefined) throw Object.assign(failure, { report: { ...failure.report, warnings } });
    if (file !== undefined) return buildAnswer([finished], { response: file, file: paths.responseName, warnings });
    const remainingMs = deadline - performance.now();
    return askAgain({ options: ownOptions, turn, paths, finished, remainingMs, warnings });
  };
}

type Unanswered = {
  readonly options: KiroOptions;
  readonly turn: ProtocolTurn;
  readonly paths: ResponsePaths;
  readonly finished: Finished;
  readonly remainingMs: number;
  readonly warnings: readonly string[];
};

/** Asks an agent that finished without an answer file to write one, once. Otherwise its output is the answer. */
async function askAgain({
  options,
  turn,
  paths,
  finished,
  remainingMs,
  warnings,
}: Unanswered): Promise<ProtocolAnswer> {
  if (paths.responseFile === undefined) {
    const how = "The agent may not write files, so this answer was read from its output.";
    return takePrintedAnswer(turn, [finished], [...warnings, how]);
  }
  const prompt = buildSummaryPrompt(options.prompts, paths);
  const timeoutMs = Math.max(remainingMs, 1);
  const second = await run(options, turn, { prompt, answerFile: paths.responseName, resume: true, timeoutMs });
  tellUsage(options, turn, [finished, second]);
  const context = { agent: turn.agent.name, binary: options.binary, timeoutMs: turn.timeoutMs, answered: true };
  const failure = findKiroFailure(second, context);
  // After any other failure, the answer of the first run counts.
  if (failure?.code === "CANCELLED" || failure?.code === "AGENT_NOT_FOUND") throw failure;

  const file = takeFileAnswer(second);
  const runs = [finished, second] as const;
  if (file !== undefined) return buildAnswer(runs, { response: file, file: paths.responseName, warnings });
  const how = "The agent wrote no answer file, so this answer was read from its output.";
  return takePrintedAnswer(turn, runs, [...warnings, how]);
}

/** The run of the prompt, and the run that asked for its answer again. */
type Runs = readonly [Finished, Finished?];

function takePrintedAnswer({ agent }: ProtocolTurn, runs: Runs, warnings: readonly string[]): ProtocolAnswer {
  const response = extractAnswer(runs[0].stdout.text);
  if (response !== "") return buildAnswer(runs, { response, file: undefined, warnings });
  throw new BudgieError("AGENT_FAILED", `The agent "${agent.name}" finished its turn and said nothing. Ask it again.`);
}

type KiroPrompt = {
  readonly prompt: string;
  readonly answerFile: string | undefined;
  readonly resume: boolean;
  readonly timeoutMs: number;
};

async function run(
  options: KiroOptions,
  turn: ProtocolTurn,
  { answerFile, prompt, resume, timeoutMs }: KiroPrompt,
): Promise<Finished> {
  const { agent, directory, session } = turn;
  const flags = await findFlagsFor(options.findFlags, turn);
  const command = buildKiroCommand({
    binary: options.binary,
    harness: chooseV2ChatFlags(flags),
    agent: agent.name,
    model: chooseModel(agent, options),
    resume,
    trustAllTools: options.trustAllTools,
    env: buildKiroEnv(options, session.paths(directory).home, agent.shown),
    projections: options.projections,
  });
  // NUL means nothing to a model, and may end the input of the process.
  const input = prompt.replaceAll("\0", "");
  const { outputFiles } = options;
  const timed = { ...turn, timeoutMs };
  const finished = await runToEnd(timed, command, { input, answerFile, outputFiles, isStuck: waitsForLogin });
  for (const tool of listUsedTools(finished.stdout.text)) turn.events.emit("tool", tool);
  if (options.verbose) await session.appendFile(`chat-${session.id}.txt`, formatLog(command, prompt, finished));
  return finished;
}

/** Tells what all runs together have cost, also those that failed. */
function tellUsage(options: KiroOptions, { agent, events }: ProtocolTurn, runs: readonly Finished[]): void {
  const usage = sumUsage(runs.map(({ stderr }) => stderr.text));
  if (usage !== undefined) events.emit("usage", { ...usage, model: chooseModel(agent, options) });
}

type ResponsePaths = PromptPaths & { readonly responseName: string | undefined };

/** Creates the paths of a turn. Each turn has its own answer file, so that an earlier turn's is never taken for it. */
function responsePaths({ directory, session }: ProtocolTurn, writesFiles: boolean): ResponsePaths {
  const { home, workspace } = session.paths(directory);
  if (!writesFiles) return { workspace, responseName: undefined, responseFile: undefined };
  const responseName = `response-${randomUUID()}.txt`;
  return { workspace, responseName, responseFile: `${home}/${responseName}` };
}

function takeFileAnswer({ answer }: Finished): string | undefined {
  const text = answer?.trim();
  return text === "" ? undefined : text;
}

type Answer = Pick<ProtocolAnswer, "file" | "response" | "warnings">;

function buildAnswer(runs: Runs, { warnings, ...answer }: Answer): ProtocolAnswer {
  const { exit, stderr, stdout } = runs[0];
  const more = [
    ...(exit.oomKilled ? ["A process of the agent was killed for memory; the answer may be incomplete."] : []),
    ...(stdout.truncated ? [warnOfLongOutput(stdout)] : []),
  ];
  return {
    ...answer,
    exit,
    denied: listDeniedTools(stdout.text, stderr.text),
    warnings: [...warnings, ...more],
  };
}

function warnOfLongOutput({ bytes, file }: BoundedOutput): string {
  const where = file === undefined ? "its middle was dropped" : `all that was kept of it is in "${file}"`;
  return `The agent printed ${formatCount(bytes)} bytes; ${where}.`;
}

function formatLog({ argv }: Command, prompt: string, { exit, stderr, stdout }: Finished): string {
  const parts = [
    `=== ${new Date().toISOString()} ${argv.join(" ")}`,
    `--- prompt\n${prompt}`,
    `--- stdout\n${stdout.text}`,
    `--- stderr\n${stderr.text}`,
    `--- exit ${JSON.stringify(exit)}\n`,
  ];
  return `${parts.join("\n")}\n`;
}
