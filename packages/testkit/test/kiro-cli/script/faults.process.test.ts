import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createKiroUser, MARKER } from "../run-kiro-cli.ts";

it.each([
  ["throttle", { exitCode: 0, signal: null, stdout: "" }, /rate limit reached/],
  ["silent", { exitCode: 0, signal: null, stdout: "" }, /chatting with/],
  ["crash", { exitCode: 101, signal: null, stdout: "" }, /panicked at/],
  ["kill-self", { exitCode: null, signal: "SIGKILL", stdout: "" }, /chatting/],
  ["segv", { exitCode: null, signal: "SIGSEGV", stdout: "" }, /chatting/],
  ["typo", { exitCode: 2, signal: null, stdout: "" }, /There is no fault "typo"/],
  [
    "partial-line",
    { exitCode: 0, signal: null, stdout: `${MARKER}You asked: hi\nand last, the most impor` },
    /^((?!Credits).)*$/s,
  ],
])("%s has its exit code and output", async (fault, expected, stderr) => {
  await using user = await createKiroUser();

  const run = await user.chat(`hi [[fault ${fault}]]`);

  expect(run).toMatchObject(expected);
  expect(run.stderr).toMatch(stderr);
});

it("prints its text before a fault, and does not keep the turn", async () => {
  await using user = await createKiroUser();
  const { stdout } = await user.chat("keep token-two [[say: partial]] [[fault crash]]");

  expect(stdout).toBe(`${MARKER}partial`);
  expect((await user.chat("[[recall]]", { argv: ["--resume"] })).stdout).toContain("I remember nothing.");
});

it("crashes once, and works the next time", async () => {
  await using user = await createKiroUser();

  const first = await user.chat("hi [[fault-once crash]]");
  const second = await user.chat("hi [[fault-once crash]]");

  expect(first.exitCode).toBe(101);
  expect(second).toMatchObject({ exitCode: 0, stdout: `${MARKER}You asked: hi\n` });
});

it("hangs through SIGTERM", async () => {
  await using user = await createKiroUser();
  const child = user.start(["chat", "--no-interactive", "[[say: here]] [[fault hang]]"]);
  await once(child.stdout ?? child, "data");
  // The agent prints a moment before it ignores the signal.
  await sleep(200);

  child.kill("SIGTERM");
  await sleep(300);
  const alive = child.exitCode === null && child.signalCode === null;
  child.kill("SIGKILL");
  await once(child, "exit");

  expect(alive).toBe(true);
});

it("prints the requested number of bytes", async () => {
  await using user = await createKiroUser();

  const { bytes } = await user.chat("[[fault huge-output 3000000]]");

  expect(bytes.length).toBe(3_000_000 + MARKER.length + 1);
});

it("prints invalid UTF-8", async () => {
  await using user = await createKiroUser();

  const { bytes } = await user.chat("[[say: a]] [[fault invalid-utf8]]");

  expect(() => new TextDecoder("utf8", { fatal: true }).decode(bytes)).toThrow();
});

it("one-character prints 2 MiB of it on each stream", async () => {
  await using user = await createKiroUser();
  const { bytes, stderr } = await user.chat("[[fault one-character 13]]");

  const isFull = (text: string): boolean => text.split("\r").length > 2 * 1024 ** 2;
  expect([bytes.toString("latin1"), stderr].map(isFull)).toEqual([true, true]);
});

it("flood prints the requested size in a single line", async () => {
  await using user = await createKiroUser();
  const { bytes, exitCode } = await user.chat("[[fault flood 3]]");

  expect(exitCode).toBe(0);
  expect(bytes.includes("0123456789abcdef".repeat(3 * 65_536))).toBe(true);
});

it.each([
  ["child", { ownGroup: false, holdsStdout: true }],
  ["orphan", { ownGroup: true, holdsStdout: false }],
  ["clinging-orphan", { ownGroup: true, holdsStdout: true }],
])("%s leaves a process running", async (fault, expected) => {
  await using user = await createKiroUser();

  // A unique duration identifies the process. It ends in 1, since a number would lose a trailing zero.
  const seconds = `60.${process.pid}1`;
  const child = user.start(["chat", "--no-interactive", `[[fault ${fault} ${seconds}]]`]);
  child.stdout?.resume();
  let closed = false;
  child.once("close", () => (closed = true));
  await once(child, "exit");
  await sleep(100);
  const left = findProcess("sleep", seconds);

  expect({ ownGroup: left?.group === left?.pid, holdsStdout: !closed }).toEqual(expected);
  expect(left).toBeDefined();
  if (left !== undefined) process.kill(left.pid);
});

function findProcess(...argv: readonly string[]): { pid: number; group: number } | undefined {
  for (const pid of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8") !== `${argv.join("\0")}\0`) continue;
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ");
      return { pid, group: Number(fields?.[2]) };
    } catch {
      continue;
    }
  }
  return undefined;
}
