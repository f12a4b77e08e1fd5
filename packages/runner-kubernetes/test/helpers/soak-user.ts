import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { BudgieError, createSessionId, type Runner, type RunnerSession } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { createRandom } from "./create-random.ts";

/** A turn that has ended, as a user saw it. */
export type SoakTurn = {
  readonly kind: SoakKind;
  /** True if it was answered, and the answer is not its own, or lacks a line of an earlier turn that was answered */
  readonly isWrong: boolean;
  /** `answered`, the code of its error, or its exit */
  readonly end: string;
  /** True if the session's Pod may have been deleted since its last answer */
  readonly isLoose: boolean;
  /** The message of its error, or what it said before another end */
  readonly why?: string;
};

type SoakKind = (typeof KINDS)[number];

/** The faults of a soak. */
export type SoakFaults = {
  /** Cuts the wires to all Pods */
  readonly cut: () => void;
  /** Deletes a session's Pod */
  readonly delete: (session: string) => Promise<unknown>;
  /** Resolves when a session has left its Pod */
  readonly leave: (session: string) => Promise<unknown>;
};

export type SoakUserOptions = {
  readonly runner: Runner;
  readonly faults: SoakFaults;
  /** A folder of the host as workspace */
  readonly directory: string;
  readonly name: string;
  readonly seed: number;
  readonly turns: number;
};

const KINDS = ["plain", "plain", "big", "big", "cancelled", "cancelled", "cut", "cut", "deleted", "moved"] as const;
const TURN_MS = 60_000;
const MOST_WHY = 300;
// Each turn leaves a line in the home, so that one that ran twice, or was forgotten, shows in all later answers.
const SCRIPT =
  'read -r token; echo "$token" >> ~/turns; cat ~/turns; echo --; seq "$1"; sleep "$2"; seq "$1"; echo "$token"';

/** Runs turns after each other with faults at random moments, in a session that is replaced once it is lost. */
export async function runSoakUser(options: SoakUserOptions): Promise<readonly SoakTurn[]> {
  const { directory, faults, name, runner, seed, turns } = options;
  const random = createRandom(seed);
  const done: SoakTurn[] = [];
  let session = await runner.openSession(createSessionId());
  let answered: string[] = [];
  let isLoose = false;

  async function takeTurn(token: string, kind: SoakKind): Promise<SoakTurn> {
    if (kind === "moved") await faults.leave(session.id);
    isLoose ||= kind === "deleted";
    const stopping = new AbortController();
    const [lines, pauseMs, faultMs] = [kind === "plain" ? random(100) : random(100_000), random(1_000), random(800)];
    const fault = sleep(faultMs).then(() => {
      if (kind === "cancelled") stopping.abort();
      if (kind === "cut") faults.cut();
      return kind === "deleted" ? faults.delete(session.id) : undefined;
    });
    const argv = ["sh", "-c", SCRIPT, "sh", `${lines}`, `${pauseMs / 1_000}`] as const;
    const { end, said } = await askAgent(session, { argv, directory, input: `${token}\n`, signal: stopping.signal });
    await fault;
    if (end !== "answered") return { kind, end, isLoose, isWrong: false, why: said.slice(-MOST_WHY) };
    const isWrong = !isOwnAnswer(said, { token, lines, answered });
    answered.push(token);
    return { kind, end, isLoose, isWrong };
  }

  for (let turn = 0; turn < turns; turn += 1) {
    const kind = KINDS[random(KINDS.length)] ?? "plain";
    const ended = await orAborted(takeTurn(`${name}-${turn}`, kind), AbortSignal.timeout(TURN_MS));
    done.push(ended);
    if (ended.end === "answered" && kind !== "deleted") isLoose = false;
    if (["AGENT_CRASHED", "SESSION_UNUSABLE"].includes(ended.end)) {
      await session.remove();
      session = await runner.openSession(createSessionId());
      [answered, isLoose] = [[], false];
    }
  }
  await session.remove();
  return done;
}

/** A turn to run. */
export type SoakAsk = {
  readonly argv: readonly [string, ...string[]];
  readonly directory: string;
  readonly input: string;
  readonly signal?: AbortSignal | undefined;
};

/** Runs a turn in a session's copy, and resolves to its end and all that it said. Rejects for an error without a code. */
export async function askAgent(session: RunnerSession, { argv, directory, input, signal }: SoakAsk) {
  try {
    const copy = session.copy?.();
    if ((await copy?.fillId()) === undefined) await copy?.fill((async function* () {})(), { signal });
    const access = { ...DEFAULT_ACCESS, workspace: "copy" as const };
    const child = await session.start({ argv, env: {}, projections: [] }, { directory, access, input, signal });
    child.stderr.resume();
    const [said, { exitCode, reason }] = await Promise.all([text(child.stdout), child.exit]);
    if (reason === "cancelled") return { end: "CANCELLED", said };
    return { end: reason === undefined && exitCode === 0 ? "answered" : `exit ${exitCode} ${reason}`, said };
  } catch (error) {
    if (error instanceof BudgieError) return { end: error.code, said: error.message };
    throw error;
  }
}

type Expected = { readonly token: string; readonly lines: number; readonly answered: readonly string[] };

function isOwnAnswer(said: string, { answered, lines, token }: Expected): boolean {
  const [before = "", output] = said.split("--\n");
  const turns = before.trimEnd().split("\n");
  const numbers = Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join("");
  const owner = token.slice(0, token.lastIndexOf("-") + 1);
  return (
    output === `${numbers}${numbers}${token}\n` &&
    turns.at(-1) === token &&
    new Set(turns).size === turns.length &&
    turns.every((turn) => turn.startsWith(owner)) &&
    answered.every((turn) => turns.includes(turn))
  );
}
