import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { createByteBudget } from "@budgie/core/bounds";
import type { Protocol } from "@budgie/core/protocol";
import { serveOnLoopback, startAuthorizationServer, startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { closeShared } from "../../src/serving/shared-servers.ts";
import { setUp } from "../../../cli/test/helpers/served-agent.ts";

describe("an agent with MCP servers", () => {
  it("is shown addresses in place of its entries, under the same names", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: {} } });
    const servers = { far: { url: far.url, headers: { "x-key": "canary" }, timeout: 5000 } };

    const { mcpServers, offered, shown, warnings } = await setting.turn(servers);

    // Offered over ACP as well, Kiro would have the servers twice.
    expect(offered).toBeUndefined();
    expect(shown).toEqual({
      name: "coder",
      prompt: "Code.",
      mcpServers: {
        far: { type: "http", url: expect.stringMatching(/^http:\/\/sandbox-1\/mcp\/[\w-]{32}\/far$/), timeout: 5000 },
      },
    });
    expect(mcpServers).toMatchObject([{ name: "far", run: "address", calls: 0, failed: 0 }]);
    expect(warnings).toEqual([]);
  });

  it("has no request read while those of all agents fill their limit", async () => {
    await using setting = await setUp({ mcp: { one: {} }, allPending: createByteBudget(10) });
    await setting.turn({ one: { url: "http://127.0.0.1:1/" } });
    const { mcpServers } = (await setting.turn({ one: { url: "http://127.0.0.1:1/" } })).shown;
    const path = new URL((mcpServers as { readonly one: { readonly url: string } }).one.url).pathname;
    await using place = await serveOnLoopback(createServer((...asked) => setting.services[0]?.answer(...asked)));

    const refused = await fetch(`http://127.0.0.1:${place.port}${path}`, { method: "POST", body: "x".repeat(11) });

    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining("too large together")]);
  });

  it("is shown none that are not allowed, and their secrets neither", async () => {
    await using setting = await setUp({ mcp: { off: {} } });
    const servers = { one: { command: "x", env: { KEY: "canary" } }, off: { command: "x", disabled: true } };

    const { mcpServers, shown, warnings } = await setting.turn(servers);

    expect(shown).toEqual({ name: "coder", prompt: "Code.", mcpServers: {} });
    expect(mcpServers).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringContaining('"one" of the agent "coder" cannot be used: it is not allowed.'),
    ]);
  });

  it.each([
    [{ canReach: false }, "since the engine is elsewhere"],
    [{ args: { egress: "bridge" } }, 'since with the egress mode "bridge" its sandbox cannot reach budgie.'],
  ])("gets none where its sandbox cannot reach budgie: %j", async (given, reason) => {
    await using setting = await setUp({ mcp: { one: {} }, ...given });

    const { shown, warnings } = await setting.turn({ one: { command: "x" } });

    expect(shown).toMatchObject({ mcpServers: {} });
    expect(warnings).toEqual([expect.stringContaining(`The agent did not get the MCP servers one, ${reason}`)]);
    expect(setting.services).toEqual([]);
  });

  it("has, in a turn without a network, only those that have none either, and hears of the others", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({
      mcp: { far: {}, hosted: { run: "host" }, boxed: {}, wide: { egress: "open" } },
    });
    const program = { command: "no-such-program" };
    const servers = { far: { url: far.url }, hosted: program, boxed: program, wide: program };
    const some = { far: { url: far.url }, boxed: program };
    await expect.poll(() => setting.state(some, 0)).toBe("ready");
    const before = await setting.turn(some, 0, "allowlist");

    const { mcpServers, shown, warnings } = await setting.turn(servers, 0, "none");

    expect(Object.keys(shown["mcpServers"] as object)).toEqual(["boxed"]);
    const error = 'the turn has the egress mode "none", and it has a network of its own';
    expect(mcpServers?.filter(({ name }) => name !== "boxed")).toMatchObject([
      { name: "far", run: "address", state: "not-launched", tools: 0, calls: 0, error },
      { name: "hosted", run: "host", state: "not-launched", error, egress: { mode: "host", hosts: [] } },
      { name: "wide", run: "sandbox", state: "not-launched", error },
    ]);
    expect(warnings).toContain(
      'The agent did not get the MCP servers far, hosted, wide, since the turn has the egress mode "none", and each has a network of its own.',
    );
    // Servers of an earlier turn could still be reached.
    await expect.poll(far.sessions).toBe(0);
    expect(Object.keys(before.shown["mcpServers"] as object)).toEqual(["far", "boxed"]);
    expect(before.warnings.join()).not.toContain("of its own");
  });

  it("is told what each of them may reach", async () => {
    await using far = await startMockServer();
    const mcp = {
      far: { allowHost: ["cdn.example.com"] },
      boxed: {},
      listed: { allowHost: ["api.example.com", "*.example.org:8443"] },
      wide: { egress: "open" },
    };
    await using setting = await setUp({ mcp });
    const program = { command: "no-such-program" };
    const servers = { far: { url: far.url }, boxed: program, listed: program, wide: program };

    const { mcpServers } = await setting.turn(servers);

    expect(mcpServers?.map(({ egress, name }) => [name, egress])).toEqual([
      ["far", { mode: "allowlist", hosts: [new URL(far.url).host, "cdn.example.com:443"] }],
      ["boxed", { mode: "none", hosts: [] }],
      ["listed", { mode: "allowlist", hosts: ["api.example.com:443", "*.example.org:8443"] }],
      ["wide", { mode: "open", hosts: [] }],
    ]);
  });

  it("keeps its servers over the turns of a session, until its file names others", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: {} } });
    const servers = { far: { url: far.url } };

    const first = await setting.turn(servers);
    const second = await setting.turn(servers);
    const third = await setting.turn({ far: { url: far.url, timeout: 5000 } });
    const fourth = await setting.turn({ other: { url: far.url } });

    expect(second.shown).toEqual(first.shown);
    // A container that waits for the second turn has the same file mounted.
    expect(second.written).toEqual(first.written);
    expect(third.shown).not.toEqual(first.shown);
    expect(setting.services).toHaveLength(2);
    expect(fourth.shown).toMatchObject({ mcpServers: {} });
  });

  it("has none of its servers left once its file names none", async () => {
    await using far = await startMockServer();
    await using setting = await setUp({ mcp: { far: {} } });
    await expect.poll(() => setting.state({ far: { url: far.url } }, 0)).toBe("ready");

    const { mcpServers } = await setting.turn({});

    expect(mcpServers).toBeUndefined();
    await expect.poll(far.sessions).toBe(0);
  });

  it.each([
    { section: {}, sessions: [2, 1, 1] },
    { section: { shared: true }, sessions: [1, 1, 0] },
  ])("has an instance of each server a session, or one for all: $section", async ({ section, sessions }) => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: section } });
    const servers = { far: { url: far.url } };
    await expect.poll(() => setting.states(servers)).toEqual(["ready", "ready"]);
    const [during, after, atEnd] = sessions;

    expect(far.sessions()).toBe(during);
    await setting.services[0]?.[Symbol.asyncDispose]();
    // A server learns of a session's end no later than of the connection's.
    await expect.poll(far.sessions).toBe(after);
    await closeShared(setting.shared);
    await expect.poll(far.sessions).toBe(atEnd);
  });

  it("shares a server with those agents alone whose files have the same", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: { shared: true } } });
    await setting.turn({ far: { url: far.url } }, 0);
    await setting.turn({ far: { url: far.url, disabledTools: ["echo"] } }, 1);
    const before = setting.shared.size;
    await setting.turn({ far: { url: far.url, headers: { "x-key": "other" } } }, 1);

    expect([before, setting.shared.size]).toEqual([1, 2]);
  });

  it("starts a shared server that failed again for the next session", async () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-mcp-"));
    const crashOnceFile = join(folder, "crashed");
    await using far = await startMockServer({ tools: [{ name: "echo" }], crashAt: "initialize", crashOnceFile });
    await using setting = await setUp({ mcp: { far: { shared: true } } });
    const servers = { far: { url: far.url } };
    await expect.poll(() => setting.state(servers, 0)).toBe("error");

    await expect.poll(() => setting.state(servers, 1)).toBe("ready");
    expect(await setting.state(servers, 0)).toBe("error");
    rmSync(folder, { recursive: true });
  });

  it("is warned of a login that a server wants, and of tools that nobody approved", async () => {
    await using authorization = await startAuthorizationServer();
    await using closed = await startMockServer({ authorization });
    await using open = await startMockServer();
    await using setting = await setUp({ mcp: { closed: {}, open: { toolsHash: `sha256:${"0".repeat(64)}` } } });
    const servers = { closed: { url: closed.url }, open: { url: open.url } };

    await expect
      .poll(async () => (await setting.turn(servers)).warnings)
      .toEqual([
        'The MCP server "closed" wants a login: the user can run "budgie mcp login closed --agent coder".',
        'The tools of the MCP server "open" differ from the approved ones: the user can run "budgie mcp tools open --agent coder".',
      ]);
  });

  it("needs no registry's file for other entries", async () => {
    await using far = await startMockServer();
    await using setting = await setUp({ mcp: { far: {} }, file: { mcpRegistry: "none.json" } });

    const { warnings } = await setting.turn({ far: { url: far.url }, known: { type: "registry" } });

    expect(warnings).toEqual([expect.stringMatching(/"known" of .*: There is no file ".*none\.json"\.$/)]);
  });

  it("has what failed told in the error of a failed turn too", async () => {
    const protocol = async (): ReturnType<Protocol> => {
      throw new BudgieError("AGENT_FAILED", "It failed.", { report: { warnings: ["first"] } });
    };
    await using setting = await setUp({ mcp: {}, protocol });

    const failing = setting.turn({ one: { command: "x" } });

    await expect(failing).rejects.toMatchObject({
      code: "AGENT_FAILED",
      report: { warnings: ["first", expect.stringContaining("it is not allowed")] },
    });
  });
});
