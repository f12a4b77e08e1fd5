import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { EmptyResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { budgiePath, createBudgieUser, toText } from "../../../../cli/test/helpers/start-budgie.ts";

const CLIENT = { name: "printf", version: "1" };

describe("budgie over stdio", () => {
  it("serves the SDK's own stdio client", async () => {
    await using user = await createBudgieUser();
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(
      new StdioClientTransport({ command: budgiePath, env: { HOME: user.host.home }, stderr: "ignore" }),
    );

    const { tools } = await client.listTools();
    await client.close();

    expect(client.getServerVersion()).toMatchObject({ name: "budgie", version: "0.1.0" });
    expect(tools.map(({ name }) => name)).toEqual([
      "kiro-subagents.code-reviewer",
      "kiro-subagents.health-check",
      "kiro-subagents.reader",
      "kiro-subagents.shell-worker",
    ]);
  });

  it("remembers a session's first turn in its second, and in no other session", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const first = await ask("code-reviewer", { prompt: "Keep the word token-parakeet." });
    const sessionId = first.structuredContent?.["sessionId"];
    const second = await ask("code-reviewer", { prompt: "[[recall]]", sessionId });
    const other = await ask("code-reviewer", { prompt: "[[recall]]" });

    expect(toText(first)).toBe("You asked: Keep the word token-parakeet.");
    expect(toText(second)).toBe("token-parakeet");
    expect(second.structuredContent).toMatchObject({ sessionId });
    expect(toText(other)).toBe("I remember nothing.");
  });

  it("answers requests that were piped in, and then exits", async () => {
    await using user = await createBudgieUser();
    const call = { name: "kiro-subagents.code-reviewer", arguments: { prompt: "Hello", directory: user.workspace } };
    const requests = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: call },
      { id: 3, method: "tools/list" },
    ];
    const child = user.launch(["--kiro-binary", kiroCliPath]);
    child.stdin?.end(requests.map((request) => `${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`).join(""));

    const [stdout, [exitCode]] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, "close")]);

    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(exitCode).toBe(0);
    expect(answers).toMatchObject([
      { id: 1 },
      { id: 3 },
      { id: 2, result: { content: [{ text: "You asked: Hello" }, {}] } },
    ]);
    expect(existsSync(user.sessionsDir) ? readdirSync(user.sessionsDir) : []).toEqual([]);
  });

  it("reports an invalid message on stderr, and continues", async () => {
    await using user = await createBudgieUser();
    const { client, stderr, stdin } = await user.serve();

    stdin.write('no JSON\n{"jsonrpc":"2.0","what":"is this"}\n');
    const { tools } = await client.listTools();

    expect(tools).toHaveLength(4);
    expect(stderr().match(/^budgie: Trouble with the client: .*$/gm)).toHaveLength(2);
  });

  it("answers unknown requests at once, as clients that probe for newer protocols expect", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve();

    const answer = client.request({ method: "resources/list" }, EmptyResultSchema);

    await expect(answer).rejects.toMatchObject({ code: -32601 });
  });
});
