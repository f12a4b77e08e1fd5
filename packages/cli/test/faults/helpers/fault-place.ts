import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../../../runner-docker/src/engine/engine.ts";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import {
  createBudgieUser,
  toEngineVariables,
  toText,
  waitFor,
  type Budgie,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";
import { openEngine } from "../../helpers/engine.ts";
import { toFaketimeVariables } from "./faketime.ts";
import { listLeftovers } from "./leftovers.ts";
import { findLostAnswers } from "./lost-answers.ts";
import type { Fault } from "../fault.ts";
import type { SecondEngine } from "./second-engine.ts";

/** The end of a call: an answer, an error with a code, or a lost connection to budgie. */
type Told = {
  readonly end: "answered" | "refused" | "cut off";
  readonly code: string | undefined;
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
};

/** A call of an agent that answers with a unique word. */
export type Call = { readonly word: string; readonly told: Promise<Told> };

type Asking = {
  /** Default: an agent that may run no programs */
  readonly agent?: string;
  /** Directives for the stand-in before it answers */
  readonly first?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
};

/** A user with a budgie in which a fault occurs. */
export type FaultPlace = AsyncDisposable & {
  readonly user: BudgieUser;
  readonly docker: Engine["docker"];
  /** The engine that may be broken */
  readonly engine: () => SecondEngine;
  readonly budgie: () => Budgie;
  /** Kills it with SIGKILL */
  readonly kill: () => Promise<void>;
  /** Starts another beside it, which stays until everything was checked */
  readonly startAnother: () => Promise<Budgie>;
  /** Calls an agent, and does not wait */
  readonly call: (asking?: Asking) => Call;
  /** Calls an agent, and resolves once it works, which it does for a minute by default */
  readonly callAtWork: (asking?: Asking) => Promise<Call>;
  /** The turn's running containers */
  readonly findTurns: () => Promise<readonly ReturnType<Engine["docker"]["getContainer"]>[]>;
  /** The reason why a call is not answered now, or `undefined`; restarts budgie if it has ended */
  readonly trouble: () => Promise<string | undefined>;
  /** Ends budgie as its client does, and lists its leftovers; if there are any, also how it ended */
  readonly leftovers: () => Promise<readonly string[]>;
  /** Moves budgie's wall clock, such as by `+2d` */
  readonly setClock: (offset: string) => void;
  /** Registers something to be done after everything was checked */
  readonly atEnd: (end: () => void) => void;
  /** The turns so far, as the run log has them */
  readonly showAnswers: () => Promise<string>;
  readonly lostAnswers: () => Promise<readonly string[]>;
};

// Longer than budgie's longest timeout for a missing engine.
const CALL_LIMIT_MS = 150_000;
/** Time limit for the preparation and the consequences of a fault */
export const PATIENCE_MS = 60_000;

export async function createFaultPlace(fault: Fault, second: SecondEngine | undefined): Promise<FaultPlace> {
  const { args = [], on, needs } = fault;
  const user = await createBudgieUser();
  const temporary = join(user.host.home, "tmp");
  mkdirSync(temporary);
  const clock = join(user.host.home, "clock");
  writeFileSync(clock, "+0");
  const endings: (() => void)[] = [];
  const engineEnv = on === "own engine" && second !== undefined ? { DOCKER_HOST: second.host } : toEngineVariables();
  // Other tests disable the sweep, which would collect what they check. A slow engine may create what a killed budgie asked for after the first one.
  const env = {
    TMPDIR: temporary,
    BUDGIE_SWEEP_EVERY: "10s",
    ...engineEnv,
    ...(needs === "faketime" ? toFaketimeVariables(clock) : {}),
  };
  const docker = on === "own engine" && second !== undefined ? second.docker() : await openEngine();
  const start = (): Promise<Budgie> => user.start({ args, env, sandbox: on !== "no sandbox" });
  const own = on === "no sandbox" ? undefined : docker;
  let orphans: readonly string[] = [];
  const calls: Call[] = [];
  const others: Budgie[] = [];
  let budgie = await start();

  function call({ agent = "code-reviewer", first = "", input = {}, signal }: Asking = {}): Call {
    const word = `answer-${randomUUID().slice(0, 8)}`;
    const prompt = `${first}[[say: ${word}]]`;
    const made = {
      word,
      told: toTold(callTool(budgie, { agent, input: { directory: user.workspace, prompt, ...input }, signal })),
    };
    calls.push(made);
    return made;
  }

  const place: FaultPlace = {
    user,
    docker,
    engine() {
      if (second === undefined) throw new Error("This fault has no engine of its own.");
      return second;
    },
    budgie: () => budgie,
    async kill() {
      budgie.child.kill("SIGKILL");
      await budgie.ended;
      const living = others.map(({ child }) => `process ${child.pid}`);
      orphans = (await listLeftovers(user, own)).filter((name) => !living.includes(name));
    },
    startAnother: async () => {
      const another = await start();
      others.push(another);
      return another;
    },
    call,
    async callAtWork({ first = "[[sleep 60000]]", ...asking } = {}) {
      const marker = `at-work-${randomUUID().slice(0, 8)}`;
      const made = call({ first: `[[write ${marker}: yes]]${first}`, ...asking });
      await waitFor(() => existsSync(join(user.workspace, marker)), PATIENCE_MS);
      return made;
    },
    async findTurns() {
      const filters = { label: ["dev.budgie.role=turn"] };
      const all = await docker.listContainers({ filters });
      const own = all.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(user.host.home));
      return own.map(({ Id }) => docker.getContainer(Id));
    },
    async trouble() {
      if (budgie.child.exitCode !== null || budgie.child.signalCode !== null) budgie = await start();
      const { told, word } = call();
      const { end, text } = await told;
      return end === "answered" && text.includes(word) ? undefined : `${end}: ${text}`;
    },
    async leftovers() {
      // The garbage of a killed budgie is removed by a sweep of the next one, some time after its first call.
      await waitFor(async () => (await listLeftovers(user, own)).every((name) => !orphans.includes(name)), PATIENCE_MS);
      const endings: string[] = [];
      for (const { child, ended, stderr } of [...others, budgie]) {
        child.stdin?.end();
        const { exitCode } = await ended;
        endings.push(`budgie exited with ${exitCode} and reported: ${stderr()}`);
      }
      const left = await listLeftovers(user, own);
      return left.length === 0 ? left : [...left, ...endings];
    },
    async showAnswers() {
      const { stdout } = await user.command(["runs", "ls", "--json"]);
      const runs = JSON.parse(stdout) as readonly { readonly id: string }[];
      const shown = await Promise.all(runs.map(({ id }) => user.command(["runs", "show", id])));
      return shown.map((run) => run.stdout).join("\n");
    },
    lostAnswers: () => findLostAnswers(user, calls),
    setClock: (offset) => writeFileSync(clock, offset),
    atEnd: (end) => void endings.push(end),
    async [Symbol.asyncDispose]() {
      for (const end of endings) end();
      await user[Symbol.asyncDispose]();
    },
  };
  return place;
}

type Calling = { readonly agent: string; readonly input: object; readonly signal: AbortSignal | undefined };

async function callTool(budgie: Budgie, { agent, input, signal }: Calling): Promise<CallToolResult> {
  const call = { name: `kiro-subagents.${agent}`, arguments: { ...input } };
  const options = { timeout: CALL_LIMIT_MS, ...(signal === undefined ? {} : { signal }) };
  return (await budgie.client.callTool(call, undefined, options)) as CallToolResult;
}

async function toTold(result: Promise<CallToolResult>): Promise<Told> {
  try {
    const told = await result;
    const { isError = false, structuredContent: facts = {} } = told;
    const code = typeof facts["code"] === "string" ? facts["code"] : undefined;
    return { end: isError ? "refused" : "answered", code, text: toText(told), facts };
  } catch (error) {
    return { end: "cut off", code: undefined, text: String(error), facts: {} };
  }
}
