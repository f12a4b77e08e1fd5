import { expect, it } from "vitest";
import { toExit, type ContainerEnd } from "../../src/init/to-exit.ts";

const end = (exitCode: number, more: Partial<ContainerEnd> = {}): ContainerEnd => ({
  exitCode,
  oomKilled: false,
  stopped: undefined,
  ...more,
});

it.each([
  ["success", end(0), { exitCode: 0 }],
  ["failure", end(3), { exitCode: 3 }],
  ["a shell's missing command, which the agent itself reported", end(127), { exitCode: 127 }],
  ["a number that is no signal's", end(200), { exitCode: 200 }],
  ["the highest code", end(255), { exitCode: 255 }],
  ["SIGKILL", end(137), { signal: "SIGKILL" }],
  ["SIGTERM", end(143), { signal: "SIGTERM" }],
  ["SIGSEGV", end(139), { signal: "SIGSEGV" }],
  ["SIGABRT, by its usual name", end(134), { signal: "SIGABRT" }],
  ["the first signal", end(129), { signal: "SIGHUP" }],
  ["128, which is no signal", end(128), { exitCode: 128 }],
  ["a command that was not there", end(125), { reason: "command-not-found" }],
  ["a stop before the command ran", end(125, { stopped: "cancelled" }), { exitCode: 125, reason: "cancelled" }],
  ["a timeout", end(143, { stopped: "timeout" }), { signal: "SIGTERM", reason: "timeout" }],
  ["a stopped process that ended well", end(0, { stopped: "shutdown" }), { exitCode: 0, reason: "shutdown" }],
  ["an agent killed for memory", end(137, { oomKilled: true }), { signal: "SIGKILL", reason: "out-of-memory" }],
  [
    "a failure after a helper was killed for memory",
    end(1, { oomKilled: true }),
    { exitCode: 1, reason: "out-of-memory" },
  ],
  ["a success in spite of a killed helper", end(0, { oomKilled: true }), { exitCode: 0 }],
  [
    "a timeout that memory came before",
    end(137, { oomKilled: true, stopped: "timeout" }),
    { signal: "SIGKILL", reason: "timeout" },
  ],
])("reports %s", (_, given, expected) => {
  const nothing = { exitCode: undefined, signal: undefined, reason: undefined };
  expect(toExit(given)).toEqual({ ...nothing, ...expected, oomKilled: given.oomKilled });
});
