import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createRunTurn, type AgentProcess, type Reply, type RunnerSession, type TurnRequest } from "@budgie/core";
import type { Policy } from "@budgie/core/policy";
import { type ProtocolTurn, TurnEvents } from "@budgie/core/protocol";
import { createStandbys, readStartKey, withStandby, type StandbysOptions } from "@budgie/core/standby";
import type { TurnDependencies, TurnHooks } from "@budgie/core/turn";
import { createFakeRunner } from "@budgie/testkit";
import { createAcpProtocol, type AcpProgram } from "../../../src/acp/index.ts";
import type { KiroRequest } from "../../../src/kiro/v3/custom-agent.ts";
import { createScriptedAgent, POLITE, type AgentOptions, type Script } from "./scripted-agent.ts";

export const POLICY: Policy = {
  workspace: "rw",
  egress: { mode: "none", hosts: [] },
  limits: {},
  timeoutMs: 60_000,
};

export type Side = ReturnType<typeof createScriptedAgent>["processes"][0]["agent"];

/** Returns the agent's side of its last process. */
export function lastOf({ processes }: ReturnType<typeof createScriptedAgent>): Side {
  const last = processes.at(-1);
  if (last === undefined) throw new Error("No process was started.");
  return last.agent;
}

/** The facts that decide which process a turn needs. */
export type Needs = {
  readonly directory: string;
  /** A file that the agent's program may read */
  readonly given: string;
  policy: Policy;
  env: Readonly<Record<string, string>>;
  model: string | undefined;
  /** The harness of Kiro, and its agent */
  kiro: KiroRequest | undefined;
  /** The login that a sandbox would be given */
  login: string;
  offered: ProtocolTurn["offered"];
  /** Called when a start is compared with the process that stands by */
  whenCompared: () => unknown;
};

type WarmPlaceOptions = {
  readonly script?: Script;
  readonly warm?: Partial<StandbysOptions>;
  /** Default: true */
  readonly isWarm?: boolean;
  readonly facts?: Partial<AgentProcess>;
  readonly agent?: Pick<AgentOptions, "endsWithInput">;
  readonly mode?: string;
  readonly tokenBasis?: AcpProgram["tokenBasis"];
  readonly dependencies?: Partial<TurnDependencies>;
};

/** Creates turns of a scripted agent whose processes stay. */
export function create({ isWarm = true, warm, ...options }: WarmPlaceOptions = {}) {
  const { agent: ends, dependencies, facts = {}, mode, script, tokenBasis } = options;
  const folder = mkdtempSync(join(tmpdir(), "budgie-warm-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const directory = join(folder, "project");
  mkdirSync(directory);
  const given = join(folder, "given");
  writeFileSync(given, "one!");
  const place: Needs = {
    directory,
    given,
    policy: POLICY,
    env: { KEY: "1" },
    model: undefined,
    kiro: undefined,
    login: "the first",
    offered: undefined,
    whenCompared: () => undefined,
  };
  const agent = createScriptedAgent({ ...POLITE, ...script }, { ...ends, facts: () => facts });
  const runner = createFakeRunner(() => ({}));
  const standbys = createStandbys({ idleMs: 60_000, isMemoryShort: () => false, ...warm });
  const readKey: typeof readStartKey = async (command, start) => {
    await place.whenCompared();
    return `${place.login} ${await readStartKey(command, start)}`;
  };
  const openSession = async (id: RunnerSession["id"]): Promise<RunnerSession> => {
    const session = { ...agent.session, id };
    return isWarm ? withStandby(session, standbys.open(), readKey) : session;
  };
  const protocol = createAcpProtocol({
    toProgram: () => ({
      command: {
        argv: ["coder-acp"],
        env: place.env,
        projections: [{ source: given, home: undefined }],
        hidden: { ".codex": "empty folder" },
      },
      permission: "allow",
      mode,
      tokenBasis,
      kiro: place.kiro,
    }),
  });
  const runTurn = createRunTurn({
    agents: () => [{ ...AGENT, model: place.model }],
    runner: { ...runner, isolation: "container", openSession },
    protocol: (turn) => protocol({ ...turn, offered: place.offered }),
    retryDelayMs: 0,
    policyOf: () => place.policy,
    workspaceRules: { allowedRoots: [], guarded: undefined },
    ...dependencies,
  });
  const ask = (request: Partial<TurnRequest> = {}, hooks?: TurnHooks): Promise<Reply> =>
    runTurn({ agent: "coder", prompt: "Do it", directory, ...request }, hooks);
  return { agent, ask, place };
}

/** Replaces a folder with a new one at the same path. */
export function replaceFolder(path: string): void {
  // The old folder stays, since the new one could get its inode number.
  renameSync(path, `${path}-old`);
  mkdirSync(path);
}

const AGENT = {
  name: "coder",
  description: "Codes.",
  whenToUse: "",
  file: "/nowhere/coder.json",
  promptFile: undefined,
  writesFiles: true,
  hasModel: false,
};

/** Creates the events of a turn that add what the agent prints to `printed`. */
export function noteOutput(printed: string[]): TurnEvents {
  return new TurnEvents().on("output", (chunk) => void printed.push(chunk.toString()));
}
