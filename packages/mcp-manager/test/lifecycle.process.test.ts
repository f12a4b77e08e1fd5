import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { manage, toProcess, toText } from "./helpers/servers.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-lifecycle-"));
const pids = join(folder, "pids");
const ECHO = [{ name: "echo" }];

afterEach(() => rmSync(pids, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

function call(name: string, given: Readonly<Record<string, unknown>> = {}) {
  return { name, arguments: given };
}

/** Returns the process ids that servers recorded. */
function readPids(): readonly number[] {
  return existsSync(pids) ? readFileSync(pids, "utf8").trim().split(/\s/).map(Number) : [];
}

describe("servers that are processes", () => {
  it("are started together, and a broken or silent one keeps no other from its work", async () => {
    const { events, manager } = manage({
      startTimeoutMs: 60_000,
      servers: [
        toProcess("silent", { silentAt: "initialize" }),
        toProcess("gone", {}, { command: "there-is-no-such-program" }),
        toProcess("broken", { crashAt: "initialize" }),
        toProcess("fine", { tools: ECHO }),
      ],
    });
    await using _ = manager;
    void manager.start();

    expect(toText(await manager.call("fine", call("echo", { a: 1 })))).toBe('{"a":1}');
    await expect(manager.call("gone", call("echo"))).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: 'The MCP server "gone" cannot be used: its command was not found.',
    });
    await expect(manager.tools("broken")).rejects.toThrow("it exited with 3");
    expect(manager.list()).toEqual([
      { name: "silent", state: "initializing", tools: 0, calls: 0, failed: 0, error: undefined },
      { name: "gone", state: "error", tools: 0, calls: 1, failed: 1, error: "its command was not found" },
      { name: "broken", state: "error", tools: 0, calls: 0, failed: 0, error: "it exited with 3" },
      { name: "fine", state: "ready", tools: 1, calls: 1, failed: 0, error: undefined },
    ]);
    expect(events).toContainEqual({ kind: "ready", tools: 1, problems: [], server: "fine" });
  });

  it("are not launched before they are wanted", async () => {
    const { manager } = manage({ servers: [toProcess("a", { pidFile: pids }), toProcess("b", { tools: ECHO })] });
    await using _ = manager;
    await manager.tools("b");

    expect(manager.list().map(({ state }) => state)).toEqual(["not-launched", "ready"]);
    expect(readPids()).toEqual([]);
  });

  it("are in an error after the limit of a start", async () => {
    const { manager } = manage({ startTimeoutMs: 1, servers: [toProcess("silent", { silentAt: "initialize" })] });
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "error", error: "it does not answer" }]);
  });

  it("get their own variables and those that programs need, and no others", async () => {
    process.env["MCP_TEST_SECRET"] = "s-1";
    const does = { kind: "env" as const, names: ["MCP_TEST_SECRET", "OWN", "PATH"] };
    const { manager } = manage({
      servers: [toProcess("a", { tools: [{ name: "env", does }] }, { env: { OWN: "o" } })],
    });
    await using _ = manager;

    expect(JSON.parse(String(toText(await manager.call("a", call("env")))))).toEqual([null, "o", process.env["PATH"]]);
    delete process.env["MCP_TEST_SECRET"];
  });

  it("are started once more after a crash, and are in an error after the second", async () => {
    const tools = [...ECHO, { name: "crash", does: { kind: "crash" as const } }];
    const { events, manager } = manage({ servers: [toProcess("a", { tools, pidFile: pids })] });
    await using _ = manager;

    await expect(manager.call("a", call("crash"))).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: 'The MCP server "a" did not answer the tool "crash": it ended. It may have done part of the work.',
    });
    expect(toText(await manager.call("a", call("echo")))).toBe("{}");
    await expect(manager.call("a", call("crash"))).rejects.toThrow("it ended");
    await expect(manager.call("a", call("echo"))).rejects.toThrow("it exited with 3");
    expect(manager.list()).toEqual([
      { name: "a", state: "error", tools: 0, calls: 4, failed: 3, error: "it exited with 3" },
    ]);
    expect(events.map(({ kind }) => kind)).toEqual([
      "initializing",
      "ready",
      "restarting",
      "initializing",
      "ready",
      "error",
    ]);
    expect(readPids()).toHaveLength(2);
  });

  it("are started once more if they crash while they list their tools", async () => {
    const crash = { crashAt: "tools/list", crashOnceFile: join(folder, "crashed") };
    const { manager } = manage({ servers: [toProcess("a", { tools: ECHO, ...crash })] });
    await using _ = manager;

    expect(await manager.tools("a")).toHaveLength(1);
  });

  it("end with the manager, child processes included, even if they ignore stdin and SIGTERM", async () => {
    const { manager } = manage({
      servers: [
        toProcess("a", { tools: ECHO, hasChild: true, ignoresEnd: true, pidFile: pids }),
        toProcess("b", { pidFile: pids }),
      ],
    });
    await manager.start();
    const started = readPids();
    const before = started.map(isAlive);
    await manager[Symbol.asyncDispose]();

    expect(before).toEqual([true, true, true]);
    // The kernel may take a moment to end a killed child that nothing waits for. The watcher beside the server takes 3 s.
    await expect.poll(() => started.map(isAlive), { timeout: 2000 }).toEqual([false, false, false]);
  });

  it("end with the manager while they start", async () => {
    const { manager } = manage({ servers: [toProcess("a", { silentAt: "initialize", pidFile: pids })] });
    const starting = manager.start();
    await expect.poll(readPids).toHaveLength(1);
    await manager[Symbol.asyncDispose]();
    await starting;

    expect(readPids().map(isAlive)).toEqual([false]);
    await expect(manager.call("a", call("echo"))).rejects.toThrow("it was closed");
  });

  it("leave no process of theirs behind when they end by themselves", async () => {
    const tools = [{ name: "crash", does: { kind: "crash" as const } }];
    const { heard, manager } = manage({ servers: [toProcess("a", { tools, hasChild: true, pidFile: pids })] });
    await using _ = manager;
    await manager.call("a", call("crash")).catch(() => undefined);
    await heard("restarting");

    const [, child] = readPids();
    await expect.poll(() => isAlive(child ?? 0)).toBe(false);
  });

  it("keep the last lines that they wrote", async () => {
    const complains = ["\u001b[31mfirst\u001b[0m", ...Array.from({ length: 600 }, (_, line) => `line ${line}`)];
    const { manager } = manage({ servers: [toProcess("a", { tools: ECHO, complains })] });
    await using _ = manager;
    await manager.tools("a");

    await expect.poll(() => manager.logs("a").at(-1)).toBe("line 599");
    expect(manager.logs("a")).toHaveLength(500);
  });
});
