import { once } from "node:events";
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { createBudgieUser, waitFor } from "../helpers/start-budgie.ts";

const WORDS = "a word of a library";

describe("stdout", () => {
  it("carries JSON-RPC messages and no other byte, from start to exit", async () => {
    const { stderr, stdout } = await liveThrough({});

    const lines = stdout.split("\n");
    expect(lines.pop()).toBe("");
    const messages = lines.map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
    expect(messages.length).toBeGreaterThanOrEqual(7);
    expect(stderr).toContain(WORDS);
    // Control: everything that could print has happened.
    for (const said of ["malformed.json", "code-reviewer: called", "Trouble with the client", "Warning: "]) {
      expect(stderr).toContain(said);
    }
    expect(stdout).toContain("-32602");
    expect(stdout).toContain("notifications/progress");
    expect(stdout).toContain("WORKSPACE_INVALID");
  });

  it("would fail this test with a stray line", async () => {
    const { stdout } = await liveThrough({ NOISE: "stdout" });

    expect(stdout).toContain(WORDS);
  });
});

/** Runs a budgie through its life with a library that logs: a bad agent file, answers, errors, noise on stdin, a cancelled call. */
async function liveThrough(env: Readonly<Record<string, string>>): Promise<{ stdout: string; stderr: string }> {
  await using user = await createBudgieUser({ malformedAgent: true });
  const child = user.launch(["--verbose", "--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG"], {
    ...env,
    NODE_OPTIONS: `--import ${new URL("../fixtures/noisy-library.mjs", import.meta.url).href}`,
  });
  const [output, errors]: [Buffer[], Buffer[]] = [[], []];
  child.stdout?.on("data", (piece: Buffer) => output.push(piece));
  child.stderr?.on("data", (piece: Buffer) => errors.push(piece));
  const stdout = (): string => Buffer.concat(output).toString();
  const say = (message: Readonly<Record<string, unknown>>): void =>
    void child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (id: number, input: Readonly<Record<string, unknown>>, name = "kiro-subagents.code-reviewer"): void =>
    say({ id, method: "tools/call", params: { name, arguments: input, _meta: { progressToken: id } } });
  const answered = (id: number) => waitFor(() => stdout().includes(`"id":${id}`));

  say({ id: 1, method: "initialize", params: START });
  say({ method: "notifications/initialized" });
  say({ id: 2, method: "tools/list" });
  await answered(2);
  child.stdin?.write("no JSON\n");
  say({ id: 3, method: "server/discover" });
  ask(4, {}, "kiro-subagents.nobody");
  ask(5, { prompt: "Hello", directory: "/no/such/place" });
  ask(6, { prompt: "Hello", directory: user.workspace });
  await Promise.all([3, 4, 5, 6].map(answered));
  ask(7, { prompt: "[[sleep 60000]]", directory: user.workspace });
  await waitFor(() => user.kiroCalls()[1]);
  say({ method: "notifications/cancelled", params: { requestId: 7 } });
  ask(8, { prompt: "[[sleep 60000]]", directory: user.workspace });
  await waitFor(() => user.kiroCalls()[2]);
  child.stdin?.end();
  const [exitCode] = (await once(child, "close")) as [number];

  expect(exitCode).toBe(0);
  return { stdout: stdout(), stderr: Buffer.concat(errors).toString() };
}

const START = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
