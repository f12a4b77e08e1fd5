import { join } from "node:path";
import { allowServers } from "../../helpers/allow-servers.ts";
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

/** Allows servers as the user at a terminal does, who types `y` unless another answer is given. */
export function allowAtTerminal(
  { home, project }: InstallUser,
  names: readonly string[],
  { answer = "y", args = [] }: { readonly answer?: string; readonly args?: readonly string[] } = {},
) {
  return allowServers(names, { home, cwd: project, answer, args: ["--config", join(project, "budgie.json"), ...args] });
}

/** Returns a configuration that allows the agent these servers. */
export function allow(mcp: object) {
  return { agents: { coder: { mcp } } };
}
