import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKiroProtocol, type KiroOptions } from "@budgie/protocols/kiro";
import { createOwner, createRunTurn, loadAgents, type RunTurn } from "@budgie/core";
import { createMemoryRunLog, buildHealthReport, type HealthReport } from "@budgie/core/runs";
import type { TurnDependencies } from "@budgie/core/turn";
import { createLocalRunner } from "@budgie/runner-local";
import { kiroCliPath } from "@budgie/testkit";
import { createTemporaryFolder } from "../../../core/test/helpers/temporary-folder.ts";

/** One run of the stand-in, as it recorded it. */
type KiroCall = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
};

type KiroPlaceOptions = Partial<
  Pick<TurnDependencies, "textLimits" | "maxTurnsPerMinute" | "protectExecutablePaths" | "retry">
> & {
  readonly timeoutMs?: number;
  readonly kiro?: Partial<KiroOptions>;
  /** `FAKE_KIRO_*` and other variables of the stand-in */
  readonly env?: Readonly<Record<string, string>>;
};

/** A user's home with agents and a stand-in `kiro-cli`, and budgie's core on the local runner. */
type KiroPlace = {
  readonly runTurn: RunTurn;
  readonly health: () => Promise<HealthReport>;
  readonly home: string;
  readonly agentsDir: string;
  readonly promptsDir: string;
  readonly workspace: string;
  /** The runs so far, in their order */
  readonly calls: () => readonly KiroCall[];
  /** Resolves after this many runs */
  readonly untilCalls: (count: number) => Promise<void>;
  /** The paths of the sessions' homes */
  readonly sessionHomes: () => readonly string[];
};

const AGENTS = {
  tester: { tools: ["*"], allowedTools: ["fs_read", "fs_write"] },
  shell: { tools: ["*"], allowedTools: ["fs_read", "fs_write", "execute_bash"] },
  reader: { tools: ["fs_read", "fs_write"], allowedTools: ["fs_read"] },
};

/** Creates the place; it is removed, with all its processes, when the test ends. */
export function createKiroPlace(options: KiroPlaceOptions = {}): KiroPlace {
  const { timeoutMs = 60_000, kiro = {}, env = {}, ...more } = options;
  const root = createTemporaryFolder();
  const home = join(root, "home");
  const [agentsDir, promptsDir] = [join(home, ".kiro", "agents"), join(home, ".kiro", "sub-agents", "prompts")];
  const [workspace, sessionsDir, log] = [join(root, "a workspace"), join(root, "sessions"), join(root, "calls.jsonl")];
  for (const folder of [agentsDir, promptsDir, workspace]) mkdirSync(folder, { recursive: true });
  for (const [name, fields] of Object.entries(AGENTS)) {
    const content = { name, description: `sub-agent: The ${name}`, ...fields };
    writeFileSync(join(agentsDir, `${name}.json`), JSON.stringify(content));
  }

  const stateDir = join(root, "state");
  const owner = createOwner({ stateDir });
  const hostEnv = { PATH: process.env["PATH"], HOME: home };
  const runner = createLocalRunner({ sessionsDir, stateDir, owner, hostEnv });
  onTestFinished(async () => {
    await runner.close();
    await owner.release();
  });
  const { agents } = loadAgents({ agentsDir, promptsDir });
  const runLog = createMemoryRunLog();
  const protocol = createKiroProtocol({
    binary: kiroCliPath,
    model: undefined,
    defaultModel: undefined,
    trustAllTools: false,
    prompts: { system: join(promptsDir, "_system.md"), contextSummary: join(promptsDir, "_context-summary.md") },
    env: { KIRO_API_KEY: "key", FAKE_KIRO_LOG: log, ...env },
    projections: [],
    verbose: false,
    ...kiro,
  });
  const calls = () => readLog(log);

  return {
    runTurn: createRunTurn({
      agents: () => agents,
      runner,
      protocol,
      runLog,
      policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs }),
      workspaceRules: { allowedRoots: [], guarded: undefined },
      retryDelayMs: 20,
      ...more,
    }),
    health: async () => buildHealthReport(await runLog.recent({ limit: 100 }), { agents: [], isolation: "none" }),
    home,
    agentsDir,
    promptsDir,
    workspace,
    calls,
    async untilCalls(count) {
      while (calls().length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    sessionHomes: () => (existsSync(sessionsDir) ? readdirSync(sessionsDir).map((id) => join(sessionsDir, id)) : []),
  };
}

function readLog(log: string): readonly KiroCall[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as KiroCall);
}
