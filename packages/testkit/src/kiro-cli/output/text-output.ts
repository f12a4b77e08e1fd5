import { write, type Output, type OutputOptions } from "./output.ts";
import { toShortName, type ToolCall } from "../agent/tool-call.ts";

const PURPLE_MARKER = "\u001B[38;5;141m> \u001B[0m";
const GREEN_MARKER = "\u001B[38;5;10m> \u001B[0m";

/** Creates the output of text mode: the answer and tool chatter on stdout, everything else on stderr. */
export function createTextOutput(options: OutputOptions): Output {
  const old = options.profile === "q1";
  const marker = old ? GREEN_MARKER : PURPLE_MARKER;
  const tools = old ? FIRST_ENGINE : SECOND_ENGINE;
  const started = performance.now();
  let inMessage = false;

  async function toolLines(lines: string): Promise<void> {
    await write(process.stdout, `${inMessage ? "\n" : ""}${lines}\n`);
    inMessage = false;
  }

  return {
    format: "text",
    async begin() {
      if (options.trustAll) await write(process.stderr, TRUST_ALL);
      await write(process.stderr, `🤖 You are chatting with ${options.model}\n\n`);
    },
    async text(text) {
      await write(process.stdout, inMessage ? text : marker + text);
      inMessage = true;
    },
    toolStarted: (call) => toolLines(tools.started(call)),
    toolFinished: (call, result) => toolLines(tools.finished(call, result)),
    toolFailed: (_call, reason) => toolLines(` ✗ ${reason}\n`),
    // The first engine ends the run instead, with a message on stderr.
    toolDenied: (call) => toolLines(tools.denied(call)),
    async finish() {
      if (inMessage) await write(process.stdout, "\n");
      if (!old) await write(process.stderr, toTrailer(performance.now() - started));
    },
  };
}

const TRUST_ALL =
  "\u001B[32mAll tools are now trusted (\u001B[0m\u001B[31m!\u001B[0m\u001B[32m). " +
  "Kiro will execute tools without asking for confirmation.\u001B[0m\n";

function toTrailer(durationMs: number): string {
  return `\n ▸ Credits: 0.01 • Time: ${Math.max(1, Math.round(durationMs / 1000))}s\n`;
}

type ToolLines = {
  readonly started: (call: ToolCall) => string;
  readonly finished: (call: ToolCall, result: string) => string;
  readonly denied: (call: ToolCall) => string;
};

const FIRST_ENGINE: ToolLines = {
  started: (call) => `🛠️  Using tool: ${toServerName(call.name)} (trusted)\n ⋮ \n ● ${toTitle(call)}\n`,
  finished: () => " ● Completed in 0.1s\n",
  denied: (call) => `🛠️  Using tool: ${toServerName(call.name)}\n ⋮ \n ● ${toTitle(call)}\n`,
};

const SECOND_ENGINE: ToolLines = {
  started: (call) => `${toTitle(call)} (using tool: ${toShortName(call.name)})\nPurpose: as the prompt asks\n`,
  finished: (call, result) => ` ✓ ${toResultLine(call, result)}\n - Completed in 0.1s\n`,
  denied: (call) =>
    `Command ${toShortName(call.name)} is rejected because it matches one or more rules on the denied list:\n` +
    "  - non-interactive mode (no user to approve)\n",
};

function toServerName(name: string): string {
  const [, server, tool] = /^@([^/]+)\/(.+)$/.exec(name) ?? [];
  return tool === undefined ? name : `${tool} from mcp server ${server}`;
}

/** Returns a tool call as one line. */
export function toTitle({ name, path, input }: ToolCall): string {
  switch (toShortName(name)) {
    case "read":
      return `Reading file: ${path}`;
    case "write":
      return `Writing file: ${path}`;
    case "shell":
      return `Running command: ${input["command"]}`;
    default:
      return `Running tool ${name}`;
  }
}

function toResultLine({ name, path }: ToolCall, result: string): string {
  if (toShortName(name) === "read") return `Successfully read ${Buffer.byteLength(result)} bytes from ${path}`;
  if (toShortName(name) === "write") return `Successfully wrote ${path}`;
  return "Done";
}
