// node scripts/record-demo.mjs: runs the demo, and draws its output as docs/demo.svg. It needs the set-up of scripts/demo.
// With --check FILE it compares the picture with the output of scripts/demo, and exits with 1 if they differ.
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
  const drawn = readTerminalSvg(await readFile(PICTURE, "utf8")).map(withoutIds);
  const all = (await readFile(output, "utf8")).split("\n").map(withoutMachine).map(toScreenLine).map(withoutIds);
  // The demo's set-up prints lines before the demo.
  const printed = all.slice(all.indexOf(drawn[0]), all.lastIndexOf(drawn.at(-1)) + 1).filter((line) => line !== "");
  const differences = [
    ...drawn.filter((line) => !printed.includes(line)).map((line) => `- ${line}`),
    ...printed.filter((line) => !drawn.includes(line)).map((line) => `+ ${line}`),
  ];
  if (differences.length === 0) return;
  console.error(`docs/demo.svg is not what the demo prints. Run scripts/record-demo.mjs.\n${differences.join("\n")}`);
  process.exitCode = 1;
}

/** Replaces tabs, and the demo's temporary folders on this machine. */
function withoutMachine(line) {
  return line
    .replaceAll("\t", "  ")
    .replaceAll(/\/[^"]*\/budgie demo, a repository: \w+/g, "/home/me/login-service")
    .replaceAll(/\/[^\s"']*\/budgie-host-home-\w+/g, "/home/me");
}

/** Replaces what differs between runs: session ids, and numbers such as those of users and containers. */
function withoutIds(line) {
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{9,27}/g, "ID").replaceAll(/\d+/g, "0");
}
