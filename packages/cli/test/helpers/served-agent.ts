import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessionId, type Agent, type EgressMode, type TurnReport, type SandboxService } from "@budgie/core";
import type { ByteBudget } from "@budgie/core/bounds";
import { TurnEvents, type Protocol, type ProtocolTurn, type ProtocolAnswer } from "@budgie/core/protocol";
import { createFakeRunner } from "@budgie/testkit";
import { serveMcpServers, withStep } from "@budgie/mcp-manager/serving";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { closeShared, type ServingStep, type SharedServers } from "../../../mcp-manager/src/serving/shared-servers.ts";
import { parseConfig } from "../../src/config/config.ts";
import { allowFound } from "./allow-servers.ts";
import { toSilentHost } from "./to-silent-host.ts";

const ANSWER = { response: "", file: undefined, denied: [], warnings: [], exit: {} as never };

/** Prepares turns of an agent whose section allows servers, in a sandbox that can reach budgie unless `canReach` is false. */
export async function setUp({
  allows = true,
  allPending,
  args = {},
  canReach = true,
  file = {},
  mcp,
  protocol = async () => ANSWER,
}: Setting) {
  const home = mkdtempSync(join(tmpdir(), "budgie-mcp-"));
  const host = toSilentHost({ home, cwd: home, env: { HOME: home } });
  const configFile = join(home, "budgie.json");
  writeFileSync(configFile, JSON.stringify({ ...file, agents: { coder: { mcp } } }));
  const config = parseConfig({ sandbox: true, config: configFile, ...args }, host);
  const services: SandboxService[] = [];
  const runner = createFakeRunner(() => ({}));
  const opened = [await runner.openSession(createSessionId()), await runner.openSession(createSessionId())] as const;
  const shared: SharedServers = new Map();
  const serve = (service: SandboxService): string => `http://sandbox-${services.push(service)}`;
  const agent = { name: "coder", file: join(home, "coder.json") } as Agent;
  let shown = "";
  let written: readonly bigint[] = [];
  let offered: unknown;
  const seen: Protocol = async (turn) => {
    const file = turn.agent.shown ?? turn.agent.file;
    shown = readFileSync(file, "utf8");
    offered = turn.offered;
    const { ino, mtimeNs } = statSync(file, { bigint: true });
    written = [ino, mtimeNs];
    return protocol();
  };
  const { mode } = config.policies.ceiling.egress;
  const step = serveMcpServers({ config: toServersConfig(config, host), runner, instance: "test", shared, allPending });
  /** Runs a turn of an agent whose file names servers, in one of two sessions. Returns the answer and the file that the agent saw. */
  async function turn(mcpServers: object, number: 0 | 1 = 0, egress?: EgressMode) {
    const includeMcpJson = Object.keys(mcpServers).length > 0;
    writeFileSync(agent.file, JSON.stringify({ name: "coder", prompt: "Code.", includeMcpJson, mcpServers }));
    if (allows === true || (allows === "first" && services.length === 0)) allowFound(agent, { config, host });
    const session = canReach ? { ...opened[number], serve } : opened[number];
    const given = { agent, session, directory: home, prompt: "", resume: false, timeoutMs: 1000, signal: undefined };
    const answer = await askThroughStep(step, seen, { ...given, events: new TurnEvents(), egress: egress ?? mode });
    return { ...answer, shown: JSON.parse(shown) as Readonly<Record<string, unknown>>, written, offered };
  }

  const state = async (mcpServers: object, number: 0 | 1) => (await turn(mcpServers, number)).mcpServers?.[0]?.state;
  return {
    services,
    shared,
    turn,
    /** Runs a turn, and returns the state of its first server. */
    state,
    states: async (mcpServers: object) => [await state(mcpServers, 0), await state(mcpServers, 1)],
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
      await closeShared(shared);
      rmSync(home, { recursive: true });
    },
  };
}

type Setting = {
  readonly mcp: object;
  /** True if the user allows the entries that wait for it; `first`: only those before the first servers */
  readonly allows?: boolean | "first";
  readonly canReach?: boolean;
  readonly allPending?: ByteBudget;
  readonly protocol?: () => ReturnType<Protocol>;
  readonly args?: object;
  /** More fields of the configuration file */
  readonly file?: object;
};

/** Asks an agent that a step gives its MCP servers. Returns the answer and what the step reports of the servers. */
export async function askThroughStep(
  step: ServingStep,
  protocol: Protocol,
  { egress, ...turn }: ProtocolTurn & { readonly egress?: EgressMode | undefined },
): Promise<ProtocolAnswer & Pick<TurnReport, "mcpServers">> {
  let report: { mcpServers?: TurnReport["mcpServers"] } = {};
  const reporting: ServingStep = (served, next) => {
    ({ report } = served);
    return step(served, next);
  };
  const answer = await withStep(protocol, reporting, egress)(turn);
  return { ...answer, ...report };
}
