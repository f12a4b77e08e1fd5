import { describe, expect, it } from "vitest";
import { LIMITS } from "../src/bounds/limits.ts";
import { manage, toProcess, toText } from "./helpers/servers.ts";

function call(name: string, given: Readonly<Record<string, unknown>> = {}) {
  return { name, arguments: given };
}

describe("a server that means harm or is broken", () => {
  it.each([
    ["sends lines that are not MCP", { says: "Welcome!\n{}\n[1]\nnull\n" }],
    ["never ends a short line before its first message", { says: "\n\n   \n" }],
  ])("is used if it only %s", async (_, options) => {
    const { manager } = manage({ servers: [toProcess("a", { ...options, tools: [{ name: "echo" }] })] });
    await using _manager = manager;

    expect(await manager.tools("a")).toHaveLength(1);
  });

  it("is ended at a message that is too large, and the next call gets another", async () => {
    const length = LIMITS.messageBytes + 1;
    const tools = [{ name: "large", does: { kind: "large" as const, length } }, { name: "echo" }];
    const { manager } = manage({ servers: [toProcess("a", { tools })] });
    await using _ = manager;

    await expect(manager.call("a", call("large"))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    expect(toText(await manager.call("a", call("echo")))).toBe("{}");
    expect(manager.logs("a")).toContain(`it sent a message of more than ${LIMITS.messageBytes} bytes`);
  });

  it("may send a message of almost that size", async () => {
    const length = LIMITS.messageBytes - 1000;
    const { manager } = manage({
      servers: [toProcess("a", { tools: [{ name: "large", does: { kind: "large", length } }] })],
    });
    await using _ = manager;

    expect(toText(await manager.call("a", call("large")))).toHaveLength(length);
  });

  it("delays no other by a flood, and its own calls wait", async () => {
    const flood = { kind: "log" as const, count: 1_000_000, text: "x".repeat(100) };
    const { manager } = manage({
      servers: [
        toProcess("loud", { tools: [{ name: "flood", does: flood }] }),
        toProcess("fine", { tools: [{ name: "echo" }] }),
      ],
    });
    await manager.start();
    const flooding = manager.call("loud", call("flood")).catch((error: unknown) => error);
    await expect.poll(() => manager.logs("loud").length).toBe(LIMITS.logLines);
    for (let index = 0; index < 20; index += 1) await manager.call("fine", call("echo"));

    expect(manager.list()).toMatchObject([
      { name: "loud", state: "ready", failed: 0 },
      { name: "fine", calls: 20, failed: 0 },
    ]);
    await manager[Symbol.asyncDispose]();
    expect(await flooding).toMatchObject({ code: "CANCELLED" });
  });

  it.each([
    [
      "of more than 1,000 tools",
      { tools: Array.from({ length: 1001 }, (_, id) => ({ name: `t${id}` })) },
      /more than 1000 tools/,
    ],
    ["that never ends", { tools: [{ name: "echo" }], endlessPages: true, pageSize: 1 }, /more than 50 pages/],
  ])("cannot be used with a list %s", async (_, options, reason) => {
    const { manager } = manage({ servers: [toProcess("a", options)] });
    await using _manager = manager;

    await expect(manager.tools("a")).rejects.toThrow(reason);
    expect(manager.list()).toMatchObject([{ state: "error", tools: 0 }]);
  });

  it("may have 1,000 tools", async () => {
    const tools = Array.from({ length: 1000 }, (_, id) => ({ name: `t${id}` }));
    const { manager } = manage({ servers: [toProcess("a", { tools, pageSize: 100 })] });
    await using _ = manager;

    expect(await manager.tools("a")).toHaveLength(1000);
  });

  it("has its tools listed again once for a thousand changes", async () => {
    const change = { kind: "change" as const, tools: [{ name: "later" }], count: 1000 };
    const { events, heard, manager } = manage({
      servers: [toProcess("a", { tools: [{ name: "turn", does: change }] })],
    });
    await using _ = manager;
    await manager.call("a", call("turn"));
    await heard("list-changed");

    expect(events.filter(({ kind }) => kind === "list-changed")).toHaveLength(1);
  });
});
