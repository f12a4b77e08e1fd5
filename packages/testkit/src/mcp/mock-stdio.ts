// node mock-stdio.js OPTIONS: a mock MCP server on stdin and stdout; its options are JSON.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { MockOptions } from "./mock-options.ts";
import { serveMock } from "./serve-mock.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as MockOptions;
const { complains = [], hasChild = false, ignoresEnd = false, pidFile, says } = options;

const ids = [process.pid];
if (hasChild) {
  const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('.')";
  const child = spawn(process.execPath, ["-e", stubborn], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  ids.push(child.pid ?? 0);
}
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
