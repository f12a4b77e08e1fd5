import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import pLimit from "p-limit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { getJson } from "../../src/engine/request-engine.ts";
import { openSshConnection } from "../../src/ssh/open-ssh-connection.ts";
import { parseSshHost } from "../../src/ssh/parse-ssh-host.ts";

const BYTES = 2_000_000;

let folder: string;
let server: Server;
let running: Set<Socket>;
let starts: number;

// Each stand-in for ssh holds a connection to this server while it lives.
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "budgie-ssh-"));
  running = new Set();
  starts = 0;
  server = createServer((socket) => {
    running.add(socket);
    starts++;
    socket.on("error", () => undefined).once("close", () => running.delete(socket));
  });
  await once(server.listen(join(folder, "alive")), "listening");
});

afterEach(async () => {
  for (const socket of running) socket.destroy();
  server.close();
  await once(server, "close");
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a program the ssh of an address. */
function toAddress(script: string) {
  const alive = `const s = require("net").connect(${JSON.stringify(join(folder, "alive"))}); s.on("error", () => undefined); s.once("connect", () => { ${script} });`;
  writeFileSync(join(folder, "ssh"), `#!${process.execPath}\n${alive}\n`, { mode: 0o755 });
  const PATH = [folder, process.env["PATH"]].join(delimiter);
  return { ssh: parseSshHost("ssh://me@host", "DOCKER_HOST"), env: { PATH } };
}

const open = (script: string) => openSshConnection(toAddress(script), pLimit(4));
// Its connection to this test's server must not keep it alive.
const ECHO = `process.stdin.pipe(process.stdout); process.stdin.on("end", () => s.end());`;
const ANSWER = `process.stdin.on("data", () => process.stdout.write("HTTP/1.1 200 OK\\r\\nContent-Length: 12\\r\\n\\r\\n" + '{"Answer":1}')).on("end", () => s.end());`;

it("passes bytes both ways, and ends when the other side does", async () => {
  const connection = open(ECHO);
  connection.end("x".repeat(BYTES));

  expect(await text(connection)).toBe("x".repeat(BYTES));
});

it("closes its pipes when it is destroyed with bytes that nobody read", async () => {
  const connection = open(`process.stdout.write("x".repeat(${BYTES})); process.stdin.on("end", () => s.end());`);
  await once(connection, "readable");
  const countPipes = () => process.getActiveResourcesInfo().filter((kind) => kind === "PipeWrap").length;
  const before = countPipes();

  connection.destroy();

  // The three of the process, and its connection to this test's server.
  await expect.poll(() => countPipes()).toBe(before - 4);
});

it("fails with the reason that ssh gives", async () => {
  const connection = open(`process.stderr.write("me@host: Permission denied (publickey).\\n"); process.exit(255);`);
  connection.write("GET / HTTP/1.1\r\n\r\n");

  const [error] = await once(
    connection.on("data", () => undefined),
    "error",
  );
  expect(error).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining("Permission denied") });
});

it("keeps the end of an endless stderr", async () => {
  const said = ["REMOTE HOST IDENTIFICATION HAS CHANGED", "x".repeat(BYTES), "Host key verification failed."];
  writeFileSync(join(folder, "said"), said.join("\n"));
  const address = toAddress(
    `process.stderr.write(require("fs").readFileSync(${JSON.stringify(join(folder, "said"))}), () => process.exit(255));`,
  );

  await expect(getJson(address, "/version", AbortSignal.timeout(20_000))).rejects.toMatchObject({
    message: expect.stringContaining("its host key is unknown"),
  });
});

it("fails without ssh", async () => {
  const address = { ...toAddress(""), env: { PATH: join(folder, "none") } };

  await expect(getJson(address, "/version", AbortSignal.timeout(20_000))).rejects.toMatchObject({
    message: expect.stringContaining("Install OpenSSH's client"),
  });
});

it("is closed with its process", async () => {
  const connection = open(`process.stdin.resume(); process.stdout.write("up");`);
  await once(connection, "data");
  const [alive] = [...running];

  connection.destroy();

  if (alive !== undefined) await once(alive, "close");
  expect(running.size).toBe(0);
});

it("emits a timeout after a time without data, unless that is called off", async () => {
  const connection = open(`process.stdin.resume();`) as unknown as Socket;
  const calledOff = (): never => expect.unreachable();
  connection.setTimeout(20, calledOff);
  connection.setTimeout(0, calledOff);

  await new Promise<void>((resolve) => connection.setTimeout(50, resolve));
  connection.destroy();
});

it("serves one request after another on one connection, and many on no more than 16", async () => {
  const address = toAddress(ANSWER);
  const ask = () => getJson(address, "/version", AbortSignal.timeout(60_000));

  for (let asked = 0; asked < 5; asked++) expect(await ask()).toEqual({ Answer: 1 });
  expect(starts).toBe(1);

  expect(await Promise.all(Array.from({ length: 40 }, ask))).toHaveLength(40);
  expect(starts).toBeLessThanOrEqual(16);
});

/** Starts a program that imports a module of the room as `room`, in a process group of its own. */
function startProgram(name: string, program: string, env: Readonly<Record<string, string>>) {
  const module = pathToFileURL(join(import.meta.dirname, `../../dist/ssh/${name}.js`)).href;
  const text = `import * as room from ${JSON.stringify(module)};
const address = { ssh: { name: "host", user: undefined, port: undefined, socketPath: undefined }, env: process.env };
${program}`;
  return spawn(process.execPath, ["--input-type=module", "-e", text], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
}

it("ends when budgie is killed", async () => {
  const { env } = toAddress(`process.stdin.resume().on("end", () => s.end()); process.stdout.write("up");`);
  const program = `room.openSshConnection(address, (start) => Promise.resolve(start())).on("data", (said) => console.log(String(said)));`;
  const budgie = startProgram("open-ssh-connection", program, env);
  expect(await once(createInterface({ input: budgie.stdout }), "line")).toEqual(["up"]);
  const [alive] = [...running];

  budgie.kill("SIGKILL");

  if (alive !== undefined) await once(alive, "close");
  expect(running.size).toBe(0);
});

it("outlives a Ctrl-C, after which budgie still has work there", async () => {
  const { env } = toAddress(`process.stdin.pipe(process.stdout); process.stdout.write("up");`);
  const program = `const connection = room.openSshConnection(address, (start) => Promise.resolve(start()));
connection.on("data", (said) => console.log(String(said)));
process.on("SIGINT", () => connection.write("still up"));`;
  const budgie = startProgram("open-ssh-connection", program, env);
  const lines = createInterface({ input: budgie.stdout });
  expect(await once(lines, "line")).toEqual(["up"]);

  process.kill(-(budgie.pid ?? 0), "SIGINT");

  expect(await once(lines, "line")).toEqual(["still up"]);
  budgie.kill("SIGKILL");
});

// In less than the time for which an idle connection is kept.
it("does not keep a program alive that waits for no answer", { timeout: 25_000 }, async () => {
  const { env } = toAddress(ANSWER);
  const program = `import { get } from "node:http";
get({ agent: room.findSshConnections(address), headers: { Host: "engine" } }, (answer) => answer.pipe(process.stdout));`;
  const budgie = startProgram("find-ssh-connections", program, env);

  expect(await text(budgie.stdout)).toBe('{"Answer":1}');
});
