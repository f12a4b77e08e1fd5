import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  createRunTurn,
  createWarmProcesses,
  type AgentProcess,
  type KiroRequest,
  type Policy,
  type ProtocolTurn,
  type Reply,
  type RunnerSession,
  type TurnDependencies,
  type TurnHooks,
  type TurnRequest,
  type WarmOptions,
} from "@budgie/core";
import { createFakeRunner } from "@budgie/testkit";
import { createAcpProtocol } from "../../src/index.ts";
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
export type Place = {
  readonly directory: string;
  /** A file that the agent's program may read */
  readonly given: string;
  policy: Policy;
  env: Readonly<Record<string, string>>;
  model: string | undefined;
  /** The harness of Kiro, and its agent */
  kiro: KiroRequest | undefined;
  isCurrent: boolean;
  offered: ProtocolTurn["offered"];
  /** Called when a process is asked whether it is still current */
  whenCompared: () => unknown;
};

type WarmPlaceOptions = {
  readonly script?: Script;
  readonly warm?: Partial<WarmOptions>;
  readonly facts?: Partial<AgentProcess>;
  readonly agent?: Pick<AgentOptions, "endsWithInput">;
  readonly mode?: string;
  readonly dependencies?: Partial<TurnDependencies>;
};

/** Creates turns of a scripted agent whose processes stay. */
export function create({ agent: ends, dependencies, facts, mode, script, warm }: WarmPlaceOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), "budgie-warm-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const directory = join(folder, "project");
  mkdirSync(directory);
  const given = join(folder, "given");
  writeFileSync(given, "one!");
  const place: Place = {
    directory,
    given,
    policy: POLICY,
    env: { KEY: "1" },
    model: undefined,
    kiro: undefined,
    isCurrent: true,
    offered: undefined,
    whenCompared: () => undefined,
  };
  const isCurrent = async (): Promise<boolean> => {
    await place.whenCompared();
    return place.isCurrent;
  };
  const agent = createScriptedAgent({ ...POLITE, ...script }, { ...ends, facts: () => ({ isCurrent, ...facts }) });
  const runner = createFakeRunner(() => ({}));
  const openSession = async (id: RunnerSession["id"]): Promise<RunnerSession> => ({ ...agent.session, id });
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
    warm: createWarmProcesses({ idleMs: 60_000, isMemoryShort: () => false, ...warm }),
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
