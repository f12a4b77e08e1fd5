import { parseTimeout } from "@budgie/core/text";
import { InvalidArgumentError, type Command } from "commander";
import type { McpChoice } from "@budgie/mcp-manager/agents";

type Shown = McpChoice & { readonly json: boolean };

export type ToolCallArguments = Shown & {
  readonly name: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

export type LoginArguments = Shown & { readonly name: string; readonly timeoutMs: number };

type Named = { readonly name: string; readonly json: boolean };

type McpActions = {
  readonly list: (options: Shown) => Promise<void>;
  readonly tools: (options: Shown & { readonly name: string }) => Promise<void>;
  readonly call: (options: ToolCallArguments) => Promise<void>;
  readonly allow: (options: McpChoice & { readonly name: string }) => Promise<void>;
  readonly login: (options: LoginArguments) => Promise<void>;
  readonly logout: (options: Shown & { readonly name: string }) => Promise<void>;
  readonly logs: (options: Named) => Promise<void>;
};

type Given = { readonly agent?: string; readonly json?: boolean; readonly timeout?: string };

/** Adds the commands of `budgie mcp`. */
export function addMcpCommands(program: Command, actions: McpActions): void {
  const mcp = program
    .command("mcp")
    .summary("the MCP servers that agents' files name")
    .description(
      "Looks at the MCP servers that agents' files name, and calls their tools. It starts only servers that the configuration file " +
        "allows an agent, or --allow-mcp every agent: each program in a container of its own, unless the file has it run on this " +
        "machine. Agents in a sandbox get the same. " +
        'The server that offers agents is "budgie serve".',
    );
  const add = (name: string, description: string): Command =>
    mcp
      .command(name, { isDefault: name === "ls" })
      .description(description)
      .option("--agent <agent>", "only the servers of this agent")
      .option("--json", "print JSON");
  add("ls", "start the servers that are allowed, and print the state of all").action((given: Given) =>
    actions.list(pickShown(given)),
  );
  add("tools", "print the tools of a server that may be called")
    .argument("<name>", "a server")
    .action((name: string, given: Given) => actions.tools({ name, ...pickShown(given) }));
  add("call", "call a tool of a server, and print what it returns")
    .argument("<name>", "a server")
    .argument("<tool>", "a tool")
    .argument("[json]", "its arguments, as an object of JSON", parseArguments, {})
    .action((...[name, tool, given, options]: [string, string, ToolCallArguments["arguments"], Given]) =>
      actions.call({ name, tool, arguments: given, ...pickShown(options) }),
    );
  mcp
    .command("allow")
    .argument("<name>", "a server")
    .description(
      "show the entry of a server that runs on this machine, or has variables or headers, and allow it until it changes; " +
        "asks a person at a terminal",
    )
    .option("--agent <agent>", "only the server of this agent")
    .action((name: string, { agent }: Given) => actions.allow({ name, agent }));
  add(
    "login",
    "log in to a server over HTTP, with a browser of this machine; its tokens stay in budgie's state directory",
  )
    .argument("<name>", "a server")
    .option("--timeout <duration>", "how long to wait for the browser", "5m")
    .action((name: string, { timeout = "5m", ...given }: Given) =>
      actions.login({ name, timeoutMs: parseTimeout(timeout, "--timeout"), ...pickShown(given) }),
    );
  add("logout", "remove the login to a server, and end its tokens")
    .argument("<name>", "a server")
    .action((name: string, given: Given) => actions.logout({ name, ...pickShown(given) }));
  mcp
    .command("logs")
    .argument("<name>", "a server")
    .description("print the last lines that a server wrote when these commands or doctor started it last")
    .option("--json", "print JSON")
    .action((name: string, { json = false }: Given) => actions.logs({ name, json }));
}

function pickShown({ agent, json = false }: Given): Shown {
  return { agent, json };
}

function parseArguments(text: string): Readonly<Record<string, unknown>> {
  const value = parseValue(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as ToolCallArguments["arguments"];
  throw new InvalidArgumentError("It has to be an object of JSON.");
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
