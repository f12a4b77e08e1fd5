import { describe, expect, it } from "vitest";
import { createBudgieUser, waitFor, type Served } from "../../../../cli/test/helpers/start-budgie.ts";

type Answer = {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

let lastId = 1_000;

/** Sends requests that the SDK's client would not. */
async function request({ lines, stdin }: Served, method: string, params?: unknown): Promise<Answer> {
  const id = ++lastId;
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const line = await waitFor(() => lines.find((text) => (JSON.parse(text) as { id?: unknown }).id === id));
  return JSON.parse(line) as Answer;
}

describe("tools/call", () => {
  it("answers an invalid request with a protocol error, in one line", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();

    for (const [params, message] of [
      [{ name: "kiro-subagents.reader", arguments: [] }, /params\.arguments: .*array\.$/],
      [{ name: "kiro-subagents.reader", arguments: "prompt" }, /params\.arguments: .*string\.$/],
      [{ name: "kiro-subagents.reader", arguments: 5 }, /params\.arguments: .*number\.$/],
      [{ name: "nobody", arguments: true }, /params\.arguments: .*boolean\.$/],
      [{ name: "nobody", arguments: {} }, /^There is no tool "nobody"\.$/],
      [{ name: "nobody", _meta: { progressToken: "x".repeat(1_001) } }, /_meta\.progressToken: longer than 1000/],
      [{ name: 5 }, /params\.name: .*number\.$/],
      [{ arguments: {} }, /params\.name: .*undefined\.$/],
      [{ name: null }, /params\.name: .*undefined\.$/],
      [undefined, /params: .*undefined\.$/],
    ] as const) {
      const { error } = await request(budgie, "tools/call", params);

      expect(error, JSON.stringify(params)).toEqual({ code: -32602, message: expect.stringMatching(message) });
    }
    expect(user.kiroCalls()).toEqual([]);
  });

  it.each([{}, { arguments: null }])("treats missing or null arguments as none: %j", async (rest) => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();

    const health = await request(budgie, "tools/call", { name: "kiro-subagents.health-check", ...rest });
    const reader = await request(budgie, "tools/call", { name: "kiro-subagents.reader", ...rest });

    expect(health.result).toMatchObject({ structuredContent: { isolation: "none" } });
    expect(reader.result).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
  });
});

describe("tools/list", () => {
  it.each([undefined, {}, { cursor: "" }, { cursor: null }])("returns all tools in one page for %j", async (params) => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();

    const { result } = await request(budgie, "tools/list", params);

    expect(result).toEqual({ tools: expect.objectContaining({ length: 4 }) });
  });

  it("refuses an unknown page", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();

    const unknown = await request(budgie, "tools/list", { cursor: "2" });
    const malformed = await request(budgie, "tools/list", { cursor: 2 });

    expect(unknown.error).toEqual({ code: -32602, message: 'There is no page "2": the first page has all tools.' });
    expect(malformed.error).toMatchObject({ code: -32602 });
  });
});

describe("a client that speaks only a newer revision", () => {
  it.each(["server/discover", "tools/list", "tools/call"])("is told by %s which ones budgie speaks", async (method) => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

    const { error } = await request(budgie, method, { name: "kiro-subagents.reader", arguments: {}, _meta });

    expect(error).toMatchObject({
      code: -32022,
      message: expect.stringMatching(/revision "2026-07-28"\. It speaks 2025-11-25, .* begin with "initialize"/),
      data: { requested: "2026-07-28", supported: expect.arrayContaining(["2025-11-25", "2025-06-18"]) },
    });
    expect(user.kiroCalls()).toEqual([]);
  });

  it("is told so even by a `server/discover` that names none, and by no request that names a known one", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2025-11-25" };

    const bare = await request(budgie, "server/discover");
    const known = await request(budgie, "tools/list", { _meta });

    expect(bare.error).toMatchObject({ code: -32022, data: { requested: "unknown" } });
    expect(known.result).toMatchObject({ tools: { length: 4 } });
  });
});
