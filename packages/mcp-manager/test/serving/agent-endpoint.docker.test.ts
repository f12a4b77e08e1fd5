import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { listTraces } from "../../../cli/test/helpers/engine.ts";
import {
  createBudgieUser,
  toEngineVariables,
  toText,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";
import { toShellServer } from "./shell-server.ts";
import { beginSession, startCoder } from "./start-coder.ts";

/** Lists the files that show agents their servers' addresses. */
function listShown({ host }: BudgieUser): readonly string[] {
  const scratch = join(host.home, ".local/state/budgie/scratch");
  const files = readdirSync(scratch, { recursive: true, encoding: "utf8" });
  return files.filter((path) => /\/agents\/[0-9a-f]{32}\/coder\.json$/.test(path));
}

const toCall = (script: string, server = "shell"): string => `[[tool @${server}/sh: ${JSON.stringify({ script })}]]`;

describe("an agent in a sandbox and its MCP servers", () => {
  it("calls a server that runs in a container of its own, and finds its secret nowhere", async () => {
    await using user = await createBudgieUser();
    const shell = { ...toShellServer(), env: { KEY: "$KEY" } };
    const mcp = { shell: { env: ["KEY"] } };
    const { ask, client } = await startCoder(user, { mcpServers: { shell }, mcp, env: { KEY: "canary" } });
    // The turn lasts until its caller hears of the server.
    const call = { prompt: "[[run: until test -e heard; do sleep 0.1; done]]", directory: user.workspace };
    const onprogress = ({ message }: { readonly message?: string | undefined }): void => {
      if (message?.includes("shell: 1 tool") === true) writeFileSync(join(user.workspace, "heard"), "");
    };

    const asked = { name: "kiro-subagents.coder", arguments: call };
    const begun = (await client.callTool(asked, undefined, { timeout: 100_000, onprogress })) as CallToolResult;
    const { sessionId } = begun.structuredContent ?? {};
    const first = await ask("coder", { prompt: toCall("printf %s $KEY | wc -c"), sessionId });
    const look = "[[run: cat ~/.kiro/agents/*; env; cat /proc/*/environ 2>&1 | tr '\\\\0' ' ']]";
    const second = await ask("coder", { prompt: `${toCall("cat ~/note || echo kept >~/note")}${look}`, sessionId });
    const third = await ask("coder", { prompt: toCall("cat ~/note"), sessionId });

    expect(toText(first)).toContain('"text":"6\\n');
    expect(first.structuredContent).toMatchObject({
      mcpServers: [{ name: "shell", state: "ready", run: "sandbox", tools: 1, calls: 1, failed: 0 }],
    });
    expect(toText(second)).toMatch(/"url": "http:\/\/127\.0\.0\.1:3128\/mcp\/[\w-]{32}\/shell"/);
    expect(toText(second)).not.toContain("canary");
    expect(toText(third)).toContain("kept");
    expect(third.structuredContent).toMatchObject({ mcpServers: [{ calls: 1 }] });
  });

  it("gets what is allowed alone, and is told of the rest", async () => {
    await using user = await createBudgieUser();
    await using far = await startMockServer({ tools: [{ name: "echo" }, { name: "other" }] });
    const mcpServers = { far: { url: far.url }, shell: toShellServer(), dead: { command: "nothing-there" } };
    const { ask } = await startCoder(user, { mcpServers, mcp: { far: { tools: ["echo"] }, dead: {} } });

    const answer = await ask("coder", {
      sessionId: await beginSession({ ask }),
      prompt: `[[tool @far/echo: {"a":1}]][[tool @far/other]]${toCall("true")}[[run: cat ~/.kiro/agents/*]]`,
    });

    expect(toText(answer)).toContain('{\\"a\\":1}');
    expect(toText(answer)).toContain("I have no tool @far/other.");
    expect(toText(answer)).not.toContain("node:child_process");
    expect(answer.structuredContent).toMatchObject({
      mcpServers: [
        { name: "far", state: "ready", run: "address", tools: 1, calls: 1, failed: 0 },
        { name: "dead", state: "error", run: "sandbox", tools: 0, calls: 0, failed: 0 },
      ],
      warnings: expect.arrayContaining([
        expect.stringMatching(/^The MCP server "shell" of the agent "coder" cannot be used: it is not allowed\. /),
        'The MCP server "dead" could not be used: its command was not found in the image of its container.',
      ]),
    });
    const { runId } = answer.structuredContent ?? {};
    expect((await user.run(["runs", "show", String(runId)])).stdout).toMatch(/^tools .*@far\/echo \(done, \d+m?s\)$/m);
  });

  it("calls them over ACP too, in each process of its session", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startCoder(user, {
      mcpServers: { shell: toShellServer(), other: toShellServer() },
      mcp: { shell: {}, other: { tools: ["nothing"] } },
      args: ["--protocol", "acp", "--warm-idle", "0"],
    });

    const sessionId = await beginSession({ ask });
    const first = await ask("coder", { sessionId, prompt: toCall("echo sum-$((6 * 7))") });
    const second = await ask("coder", { sessionId, prompt: toCall("echo sum-$((6 * 7))") });
    const third = await ask("coder", { sessionId, prompt: toCall("true", "other") });

    for (const answer of [first, second]) {
      expect(toText(answer)).toContain("sum-42");
      expect(answer.structuredContent).toMatchObject({
        mcpServers: [
          { name: "shell", state: "ready", run: "sandbox", tools: 1, calls: 1, failed: 0 },
          { name: "other", tools: 0 },
        ],
      });
    }
    expect(toText(third)).toContain("I have no tool @other/sh.");
  });

  it("reaches them without any network, and not those of another session", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startCoder(user, {
      mcpServers: { shell: toShellServer() },
      mcp: { shell: {} },
      args: ["--egress", "none"],
    });
    const [sessionId, otherId] = await Promise.all([beginSession({ ask }), beginSession({ ask })]);
    const one = await ask("coder", { sessionId, prompt: `${toCall("echo one")}[[run: cat ~/.kiro/agents/*]]` });
    const [url] = /http:\/\/127[^"]+/.exec(toText(one)) ?? [];

    const other = await ask("coder", {
      sessionId: otherId,
      prompt: `${toCall("echo two")}[[run: bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "POST ${new URL(url ?? "").pathname} HTTP/1.1\\\\r\\\\nHost: x\\\\r\\\\nContent-Length: 0\\\\r\\\\n\\\\r\\\\n" >&3; head -n 1 <&3']]`,
    });

    expect(toText(one)).toContain('"text":"one\\n"');
    expect(toText(other)).toContain('"text":"two\\n"');
    expect(toText(other)).toContain("HTTP/1.1 404");
  });

  it("shares one container and its home with other sessions, if the user says so, until budgie ends", async () => {
    await using user = await createBudgieUser();
    const budgie = await startCoder(user, { mcpServers: { shell: toShellServer() }, mcp: { shell: { shared: true } } });
    const sessionId = await beginSession(budgie);
    const one = await budgie.ask("coder", {
      sessionId,
      prompt: toCall("echo of the first >~/note; echo $PPID $(hostname)"),
    });
    const other = await budgie.ask("coder", { prompt: toCall("cat ~/note; echo $PPID $(hostname)") });
    const [place] = /\d+ [\w-]+\\n/.exec(toText(one)) ?? [];

    expect(toText(other)).toContain(`"text":"of the first\\n${place}`);
    expect(other.structuredContent?.["sessionId"]).not.toBe(one.structuredContent?.["sessionId"]);
    await budgie.client.close();
    await budgie.ended;
    expect(await listTraces(user)).toEqual([]);
  });

  it("leaves nothing on the engine or in the state directory", async () => {
    await using user = await createBudgieUser();
    const budgie = await startCoder(user, { mcpServers: { shell: toShellServer() }, mcp: { shell: {} } });
    await beginSession(budgie);
    expect((await listTraces(user)).filter((name) => name.includes("budgie-turn-"))).not.toEqual([]);
    expect(listShown(user)).toHaveLength(1);

    await budgie.client.close();
    await budgie.ended;

    expect(await listTraces(user)).toEqual([]);
    expect(listShown(user)).toEqual([]);
  });

  it("leaves what budgie gc removes when it is killed", async () => {
    await using user = await createBudgieUser();
    const { ask, child, ended } = await startCoder(user, {
      mcpServers: { shell: toShellServer() },
      mcp: { shell: {} },
    });
    await beginSession({ ask });

    child.kill("SIGKILL");
    await ended;
    const left = listShown(user);
    await user.run(["gc"], toEngineVariables());

    expect(left).toHaveLength(1);
    expect(listShown(user)).toEqual([]);
    expect(await listTraces(user)).toEqual([]);
  });
});
