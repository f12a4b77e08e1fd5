import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import {
  createFindKiroFlags,
  createKiroAcpProtocol,
  createKiroProtocol,
  type KiroOptions,
} from "@budgie/protocols/kiro";
import { createOwner, createRunTurn, loadAgents, type Reply } from "@budgie/core";
import { createLocalRunner } from "@budgie/runner-local";
import { kiroCliPath, type KiroProfile } from "@budgie/testkit";
import { createAcpProtocol } from "../../../src/acp/index.ts";

/** A profile of the stand-in, and the way in which budgie talks to it. */
export type Way = {
  readonly profile: KiroProfile;
  readonly transport: "acp" | "cli";
  readonly harness: "v2" | "v3";
};

type KiroCall = { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** A user with one Kiro agent, `worker`, and budgie on the local runner. */
export type KiroUser = {
  readonly ask: (prompt: string, sessionId?: string) => Promise<Reply>;
  readonly home: string;
  readonly workspace: string;
  /** The agent's file */
  readonly file: string;
  /** Writes a file below the user's folder, such as `work/.kiro/agents/worker.json` */
  readonly write: (path: string, content: object | string) => void;
  /** The runs of Kiro that were no question for its help */
  readonly calls: () => readonly KiroCall[];
};

/** Creates a user whose agent has these fields. Everything is removed when the test ends. */
export function createKiroUser(way: Way, fields: object = {}, options: Partial<KiroOptions> = {}): KiroUser {
  const root = mkdtempSync(join(tmpdir(), "budgie-kiro-user-"));
  const [home, workspace, log] = [join(root, "home"), join(root, "work"), join(root, "calls")];
  const [agentsDir, promptsDir, stateDir] = [join(home, ".kiro/agents"), join(home, "prompts"), join(root, "state")];
  const write = (path: string, content: object | string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
  };
  write("home/.kiro/agents/worker.json", { ...WORKER, ...fields });
  mkdirSync(workspace);
  const owner = createOwner({ stateDir });
  const hostEnv = { PATH: process.env["PATH"], HOME: home, FAKE_KIRO_PROFILE: way.profile };
  const sessionsDir = join(root, "sessions");
  const runner = createLocalRunner({ sessionsDir, stateDir, owner, hostEnv, env: ["FAKE_KIRO_PROFILE"] });
  onTestFinished(async () => {
    await runner.close();
    await owner.release();
    rmSync(root, { recursive: true });
  });
  const kiro: KiroOptions = {
    binary: kiroCliPath,
    harness: way.harness,
    model: undefined,
    defaultModel: undefined,
    trustAllTools: false,
    prompts: { system: join(home, "_system.md"), contextSummary: join(home, "_context-summary.md") },
    env: { KIRO_API_KEY: "key", FAKE_KIRO_LOG: log },
    projections: [],
    kiroFolder: join(home, ".kiro"),
    findFlags: createFindKiroFlags({ runner, binary: kiroCliPath, stateDir }),
    verbose: false,
    ...options,
  };
  const { agents } = loadAgents({ agentsDir, promptsDir });
  const runTurn = createRunTurn({
    agents: () => agents,
    runner,
    protocol: way.transport === "cli" ? createKiroProtocol(kiro) : createKiroAcpProtocol(kiro, createAcpProtocol),
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 60_000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    retry: "never",
  });
  return {
    ask: (prompt, sessionId) => runTurn({ agent: "worker", directory: workspace, prompt, sessionId }),
    home,
    workspace,
    file: join(agentsDir, "worker.json"),
    write,
    calls() {
      const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : [];
      return lines.map((line) => JSON.parse(line) as KiroCall);
    },
  };
}

/** An agent that may read and write files unasked. */
export const WORKER = {
  name: "worker",
  description: "sub-agent: Works.",
  prompt: "You work.",
  tools: ["*"],
  allowedTools: ["fs_read", "fs_write"],
};
