import { join } from "node:path";
import type { InstallUser } from "../install/create-install-user.ts";

/** Writes an agent whose file names servers, and a configuration; returns a function that runs `budgie mcp`. */
export function setUp(user: InstallUser, { agent, config = {} }: { readonly agent: object; readonly config?: object }) {
  const shared = { name: "coder", description: "sub-agent: Codes." };
  user.write(join(user.home, ".kiro/agents/coder.json"), JSON.stringify({ ...shared, ...agent }));
  const file = join(user.project, "budgie.json");
  user.write(file, JSON.stringify(config));
  return async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    return user.run(["mcp", ...args, "--config", file], env);
  };
}

/** Returns a configuration that allows the agent these servers. */
export function allow(mcp: object) {
  return { agents: { coder: { mcp } } };
}
