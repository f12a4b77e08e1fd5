// node scripts/record-demo.mjs: runs the demo, and draws what it prints as docs/demo.svg. It needs what scripts/demo sets up.
// With --check FILE it compares the picture with a file that contains the demo's output, and exits with 1 if they differ.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { readTerminalSvg, toScreenLine, toTerminalSvg } from "./lib/terminal-svg.mjs";

const PICTURE = fileURLToPath(new URL("../docs/demo.svg", import.meta.url));
const DEMO = fileURLToPath(new URL("demo.mjs", import.meta.url));

const [option, file] = process.argv.slice(2);
if (option === "--check") await check(file);
else await record();

async function record() {
  const began = performance.now();
  const demo = spawn(process.execPath, [DEMO], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(demo, "close");
  const lines = [];
  for await (const line of createInterface(demo.stdout)) {
    console.log(line);
    if (lines.length > 0 || line !== "") lines.push({ text: withoutMachine(line), atMs: performance.now() - began });
  }
  const [exitCode] = await ended;
  if (exitCode !== 0) throw new Error("The demo failed, so there is no recording.");
  await writeFile(PICTURE, toTerminalSvg(lines));
}

async function check(output) {
  const printed = (await readFile(output, "utf8")).split("\n").map(withoutMachine).map(toScreenLine).map(withoutIds);
  const drawn = readTerminalSvg(await readFile(PICTURE, "utf8")).map(withoutIds);
  const missing = drawn.filter((line) => !printed.includes(line));
  if (drawn.length > 20 && missing.length === 0) return;
  console.error(
    `docs/demo.svg has lines that the demo does not print. Run scripts/record-demo.mjs.\n${missing.join("\n")}`,
  );
  process.exitCode = 1;
}

/** Replaces the folders of the demo, which are temporary ones of this machine, and tabs. */
function withoutMachine(line) {
  return line
    .replaceAll("\t", "  ")
    .replaceAll(/\/[^"]*\/budgie demo, a repository: \w+/g, "/home/me/login-service")
    .replaceAll(/\/[^\s"']*\/budgie-host-home-\w+/g, "/home/me");
}

/** Replaces what differs from run to run: sessions' ids, and numbers of users and containers. */
function withoutIds(line) {
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{9,27}/g, "ID").replaceAll(/\d+/g, "0");
}
