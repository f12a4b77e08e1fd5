import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { allowAll } from "../../../cli/test/helpers/allow-servers.ts";
import { waitFor, type Budgie, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

type Setting = {
  readonly mcpServers: object;
  /** The agent's section */
  readonly mcp: object;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts budgie with the agent "coder", whose file names MCP servers. */
export async function startCoder(user: BudgieUser, { args = [], env = {}, mcp, mcpServers }: Setting): Promise<Budgie> {
  const tools = { tools: ["*"], allowedTools: ["*", "@*"] };
  const agent = { name: "coder", description: "sub-agent: Codes.", ...tools, mcpServers };
  writeFileSync(join(user.host.agentsDir, "coder.json"), JSON.stringify(agent));
  const config = join(user.host.home, "budgie.json");
  writeFileSync(config, JSON.stringify({ agents: { coder: { mcp } } }));
  allowAll(user.host.home, config);
  return user.start({ sandbox: true, args: ["--config", config, "--trust-all-tools", ...args], env });
}

/** Begins a session, and resolves to its id once all servers have started: on a slow machine, some still start after the first turn. */
export async function beginSession({ ask }: Pick<Budgie, "ask">): Promise<unknown> {
  let sessionId: unknown;
  return waitFor(async () => {
    const { structuredContent = {} } = await ask("coder", { prompt: "Wait.", sessionId });
    sessionId = structuredContent["sessionId"];
    const servers = structuredContent["mcpServers"] as readonly { readonly state: string }[];
    return servers.every(({ state }) => state !== "initializing") && sessionId;
  }, 100_000);
}
