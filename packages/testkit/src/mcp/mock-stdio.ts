// node mock-stdio.js OPTIONS: a mock MCP server on stdin and stdout; its options are JSON.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { MockOptions } from "./mock-options.ts";
import { serveMock } from "./serve-mock.ts";

void run(JSON.parse(process.argv[2] ?? "{}") as MockOptions);

async function run(options: MockOptions): Promise<void> {
  const { complains = [], hasChild = false, ignoresEnd = false, pidFile, says } = options;
  const ids = [process.pid, ...(hasChild ? [await startChild()] : [])];
  if (pidFile !== undefined) appendFileSync(pidFile, `${ids.join(" ")}\n`);
  for (const line of complains) process.stderr.write(`${line}\n`);
  if (says !== undefined) process.stdout.write(says);
  if (ignoresEnd) {
    process.on("SIGTERM", () => undefined);
    setInterval(() => undefined, 1000);
  } else {
    process.stdin.on("end", () => process.exit(0));
  }
  await serveMock(options, new StdioServerTransport(), { crash: () => process.exit(3), env: process.env });
}

/** Starts a child that only SIGKILL ends, and resolves to its process id once it ignores SIGTERM. */
async function startChild(): Promise<number> {
  const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('.')";
  const child = spawn(process.execPath, ["-e", stubborn], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child.pid ?? 0;
}
