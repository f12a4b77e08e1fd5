import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createKiroUser, JSON_OUTPUT, MARKER, parseEvents } from "../run-kiro-cli.ts";

it.each([
  ["throttle", { exitCode: 0, signal: null, stdout: "" }, /rate limit reached/],
  ["network-down", { exitCode: 0, signal: null, stdout: "" }, /having trouble responding right now/],
  ["silent", { exitCode: 0, signal: null, stdout: "" }, /chatting with/],
  ["crash", { exitCode: 101, signal: null, stdout: "" }, /panicked at/],
  ["kill-self", { exitCode: null, signal: "SIGKILL", stdout: "" }, /chatting/],
  ["segv", { exitCode: null, signal: "SIGSEGV", stdout: "" }, /chatting/],
  ["run-error", { exitCode: 1, signal: null, stdout: "" }, /error in the response stream/],
  ["no-run-finished", { exitCode: 0, signal: null, stdout: `${MARKER}You asked: hi` }, /^((?!Credits).)*$/s],
  [
    "partial-line",
    { exitCode: 0, signal: null, stdout: `${MARKER}You asked: hi\nand last, the most impor` },
    /^((?!Credits).)*$/s,
  ],
])("%s has its exit code and output", async (fault, expected, stderr) => {
  await using user = await createKiroUser();

  const byPrompt = await user.chat(`hi [[fault ${fault}]]`);
  const byVariable = await user.chat("hi", { env: { FAKE_KIRO_FAULT: fault } });

  for (const run of [byPrompt, byVariable]) {
    expect(run).toMatchObject(expected);
    expect(run.stderr).toMatch(stderr);
  }
});

it("ends a throttled turn of the first engine with 1 once a tool has run", async () => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.chat("[[run: true]] [[fault throttle]]", {
    argv: ["--agent", "shell-worker"],
    env: { FAKE_KIRO_PROFILE: "q1" },
  });

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/rate limit reached[^]*Tool approval required/);
});

describe("in stream-json", () => {
  it.each(["throttle", "network-down", "run-error"])("%s is a run error", async (fault) => {
    await using user = await createKiroUser();

    const { stdout, exitCode } = await user.chat(`[[fault ${fault}]]`, JSON_OUTPUT);

    expect(exitCode).toBe(1);
    expect(parseEvents(stdout).at(-1)).toMatchObject({ type: "runError", data: { stage: "engine" } });
  });

  it.each(["no-run-finished", "silent", "crash", "partial-line"])("%s leaves out the end", async (fault) => {
    await using user = await createKiroUser();

    const { stdout } = await user.chat(`[[fault ${fault}]]`, JSON_OUTPUT);

    expect(parseEvents(stdout).map(({ type }) => type)).not.toContain("runFinished");
  });

  it("a refusal is a success", async () => {
    await using user = await createKiroUser();

    const { stdout, exitCode } = await user.chat("[[fault refusal]]", JSON_OUTPUT);

    expect(exitCode).toBe(0);
    expect(parseEvents(stdout).at(-1)).toMatchObject({
      type: "runFinished",
      data: { status: "success", finalText: expect.stringContaining("cannot continue this conversation") },
    });
  });
});

it("prints its text before a fault", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat("[[say: partial]] [[fault crash]]");

  expect(stdout).toBe(`${MARKER}partial`);
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

it.each([
  ["q1", 0],
  ["v2", 1],
])("%s ends with exit code %i when it is interrupted", async (profile, expected) => {
  await using user = await createKiroUser();
  const child = user.start(["chat", "--no-interactive", "[[say: here]] [[sleep 60000]]"], {
    env: { FAKE_KIRO_PROFILE: profile },
  });
  await once(child.stdout ?? child, "data");

  child.kill("SIGINT");

  expect(await once(child, "exit")).toEqual([expected, null]);
});

it.each(["slow-start 400", "late-output 400"])("%s waits", async (fault) => {
  await using user = await createKiroUser();

  const { durationMs, stdout } = await user.chat(`[[say: done]] [[fault ${fault}]]`);

  expect(durationMs).toBeGreaterThan(400);
  expect(stdout).toContain("done");
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

it("lists its faults when one is unknown", async () => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.chat("[[fault typo]]");

  expect(exitCode).toBe(2);
  expect(stderr).toContain('There is no fault "typo". There are: throttle, ');
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

it("one-character prints 2 MiB of it on each stream", async () => {
  await using user = await createKiroUser();
  const { bytes, stderr } = await user.chat("[[fault one-character 13]]");

  expect([bytes.toString("latin1"), stderr].map((text) => text.split("\r").length > 2 * 1024 ** 2)).toEqual([
    true,
    true,
  ]);
});

it("flood prints the requested size in a single line", async () => {
  await using user = await createKiroUser();
  const { bytes, exitCode } = await user.chat("[[fault flood 3]]");

  expect(exitCode).toBe(0);
  expect(bytes.includes("0123456789abcdef".repeat(3 * 65_536))).toBe(true);
});
