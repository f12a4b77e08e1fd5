import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createFindKiroFlags,
  createKiroAcpProtocol,
  createKiroProtocol,
  type KiroOptions,
} from "@budgie/protocols/kiro";
import { createOwner, loadAgents } from "@budgie/core";
import type { Protocol } from "@budgie/core/protocol";
import { createLocalRunner } from "@budgie/runner-local";
import {
  describeProtocol,
  isAlive,
  kiroCliPath,
  PROTOCOL_GAPS,
  type ProtocolSetup,
  type ProtocolUnderTest,
} from "@budgie/testkit";
import { createAcpProtocol } from "../../src/acp/index.ts";

const PROMPTS: ProtocolSetup["prompts"] = {
  crash: "[[say: So far.]] [[fault crash]]",
  hang: "[[say: Working.]] [[sleep 600000]]",
  paint: String.raw`[[run: printf '\033[31mred\007']]`,
  recall: "[[recall]]",
  remember: "Keep token-lark. [[say: I will.]]",
  "say much": "[[fault huge-output 20000]]",
  "say nothing": "[[say: ]] [[never-write]]",
  speak: "[[say: Answered.]]",
  "use a denied tool": "[[tool use_aws]]",
  "use a tool": "[[run: echo work]]",
};

const createAcp = (options: KiroOptions): Protocol => createKiroAcpProtocol(options, createAcpProtocol);

describeProtocol("Kiro", {
  prompts: PROMPTS,
  without: PROTOCOL_GAPS.kiro,
  create: () => createKiroPlace("v2", createKiroProtocol),
});

describeProtocol("Kiro over ACP", {
  prompts: PROMPTS,
  without: PROTOCOL_GAPS["kiro-acp"],
  create: () => createKiroPlace("v2", createAcp),
});

// kiro-profiles.process.test.ts shows how V2 of a version with two harnesses differs from these.
describeProtocol("Kiro's V3 harness", {
  prompts: PROMPTS,
  without: PROTOCOL_GAPS["kiro-acp"],
  create: () => createKiroPlace("v3", (options) => createAcp({ ...options, harness: "v3" })),
});

/** Creates a home with a Kiro agent, and a local runner. */
async function createKiroPlace(
  profile: string,
  create: (options: KiroOptions) => Protocol,
): Promise<ProtocolUnderTest> {
  const root = mkdtempSync(join(tmpdir(), "budgie-contract-"));
  const home = join(root, "home");
  const [agentsDir, workspace, sessionsDir] = [
    join(home, ".kiro", "agents"),
    join(root, "work"),
    join(root, "sessions"),
  ];
  const [stateDir, log] = [join(root, "state"), join(root, "calls")];
  for (const folder of [agentsDir, workspace]) mkdirSync(folder, { recursive: true });
  const tools = { tools: ["*"], allowedTools: ["fs_read", "fs_write", "execute_bash"] };
  const file = { name: "worker", description: "sub-agent: Works", ...tools };
  writeFileSync(join(agentsDir, "worker.json"), JSON.stringify(file));
  const [agent] = loadAgents({ agentsDir, promptsDir: join(home, "prompts") }).agents;
  if (agent === undefined) throw new Error("The agent is not loaded.");
  const owner = createOwner({ stateDir });
  const hostEnv = { PATH: process.env["PATH"], HOME: home, FAKE_KIRO_PROFILE: profile };
  const runner = createLocalRunner({ sessionsDir, stateDir, owner, hostEnv, env: ["FAKE_KIRO_PROFILE"] });
  return {
    agent,
    runner,
    workspace,
    protocol: create({
      binary: kiroCliPath,
      model: undefined,
      defaultModel: undefined,
      trustAllTools: false,
      prompts: { system: join(home, "_system.md"), contextSummary: join(home, "_context-summary.md") },
      env: { KIRO_API_KEY: "key", FAKE_KIRO_LOG: log, KIRO_HOME: join(home, ".kiro") },
      projections: [],
      kiroFolder: join(home, ".kiro"),
      findFlags: createFindKiroFlags({ runner, binary: kiroCliPath, stateDir }),
      verbose: false,
    }),
    forget: async () => rmSync(join(home, ".kiro", "sessions"), { recursive: true }),
    leftovers: async () => readPids(log).filter(isAlive).map(String),
    async [Symbol.asyncDispose]() {
      await runner.close();
      await owner.release();
      rmSync(root, { recursive: true });
    },
  };
}

function readPids(log: string): readonly number[] {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : [];
  return lines.map((line) => (JSON.parse(line) as { readonly pid: number }).pid);
}
