import { readFileSync } from "node:fs";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PROMPT = "Please [[write /tmp/a: it's here]] and [[say: All done.]]";
const WRITE = { name: "write_file", parameters: { properties: { file_path: {}, content: {} } } };
const SHELL = { name: "exec", parameters: { properties: { cmd: {} } } };
let llm: FakeLlm;
beforeAll(async () => {
  llm = await createFakeLlm();
});
afterAll(async () => {
  await llm[Symbol.asyncDispose]();
});

describe("chat completions", () => {
  const ask = (tools: readonly object[], ...more: readonly object[]): Promise<string> =>
    post("/v1/chat/completions", {
      model: "fake",
      messages: [{ role: "user", content: PROMPT }, ...more],
      tools: tools.map((tool) => ({ type: "function", function: tool })),
    });

  it("write with the tool that takes a path and content", async () => {
    const answer = await ask([SHELL, WRITE]);

    expect(answer).toContain(
      `"name":"write_file","arguments":"{\\"file_path\\":\\"/tmp/a\\",\\"content\\":\\"it's here\\"}"`,
    );
    expect(answer).not.toContain("All done.");
  });

  it("write with a shell if there is no other tool", async () => {
    expect(await ask([SHELL])).toContain(
      JSON.stringify(JSON.stringify({ cmd: "printf %s 'it'\\''s here' >'/tmp/a'" })),
    );
  });

  it("say the text when the tool has answered, and finish", async () => {
    const answer = await ask([WRITE], { role: "tool", content: "ok" });

    expect(answer).toContain('"content":"All done."');
    expect(answer.trimEnd()).toMatch(/data: \[DONE\]$/);
  });
});

describe("responses", () => {
  const ask = (...more: readonly object[]): Promise<string> =>
    post("/v1/responses", {
      model: "fake",
      input: [{ role: "user", content: [{ type: "input_text", text: PROMPT }] }, ...more],
      tools: [{ type: "web_search" }, { type: "function", ...WRITE }],
    });

  it("write with the tool that takes a path and content", async () => {
    expect(await ask()).toContain('"type":"function_call"');
  });

  it("say the text when the tool has answered, and finish", async () => {
    const answer = await ask({ type: "function_call_output", output: "ok" });

    expect(answer).toContain('"delta":"All done."');
    expect(answer).toContain("event: response.completed\n");
  });
});

describe("Gemini's API", () => {
  const ask = (...more: readonly object[]): Promise<string> =>
    post("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", {
      contents: [{ role: "user", parts: [{ text: PROMPT }] }, ...more],
      tools: [{ functionDeclarations: [{ name: WRITE.name, parametersJsonSchema: WRITE.parameters }] }],
    });

  it("writes with the tool that takes a path and content", async () => {
    expect(await ask()).toContain(
      '"functionCall":{"name":"write_file","args":{"file_path":"/tmp/a","content":"it\'s here"}}',
    );
  });

  it("says the text when the tool has answered, and finishes", async () => {
    const response = { functionResponse: { name: WRITE.name, response: { output: "ok" } } };
    const answer = await ask({ role: "user", parts: [response] });

    expect(answer).toContain('"parts":[{"text":"All done."}]},"finishReason":"STOP"');
  });
});

describe("Anthropic's API", () => {
  const ask = (...more: readonly object[]): Promise<string> =>
    post("/v1/messages?beta=true", {
      model: "fake",
      messages: [{ role: "user", content: PROMPT }, ...more],
      tools: [{ name: WRITE.name, input_schema: WRITE.parameters }],
    });

  it("writes with the tool that takes a path and content", async () => {
    const answer = await ask();

    expect(answer).toContain('"type":"tool_use"');
    expect(answer).toContain(JSON.stringify(JSON.stringify({ file_path: "/tmp/a", content: "it's here" })));
  });

  it("says the text when the tool has answered, and finishes", async () => {
    const answer = await ask({ role: "user", content: [{ type: "tool_result", content: "ok" }] });

    expect(answer).toContain('"text":"All done."');
    expect(answer).toContain('"stop_reason":"end_turn"');
  });
});

describe("the model's certificate", () => {
  it("is not trusted without its authority", async () => {
    await expect(connect({ path: "/", method: "GET" })).rejects.toThrow(/certificate/);
  });

  it("is valid for its name only", async () => {
    const ca = readFileSync(llm.caFile);

    await expect(connect({ path: "/", method: "GET", ca, servername: "other.test" })).rejects.toThrow(/other\.test/);
  });
});

async function post(path: string, body: object): Promise<string> {
  const ca = readFileSync(llm.caFile);
  return text(await connect({ path, method: "POST", ca }, JSON.stringify(body)));
}

type Connection = {
  readonly path: string;
  readonly method: string;
  readonly ca?: Buffer;
  readonly servername?: string;
};

function connect(options: Connection, body = ""): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const all = { host: "127.0.0.1", port: llm.port, servername: "llm.test", ...options };
    request(all, resolve).on("error", reject).end(body);
  });
}
