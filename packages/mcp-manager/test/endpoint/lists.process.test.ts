import { describe, expect, it } from "vitest";
import { serveEndpoint } from "../helpers/serve-endpoint.ts";

describe("the lists of an endpoint", () => {
  it("are empty for a server that has tools alone, which it asks for nothing else", async () => {
    await using served = await serveEndpoint({ one: { tools: [{ name: "echo" }], silentAt: "prompts/get" } });
    const client = await served.connect("one");

    expect((await client.listPrompts()).prompts).toEqual([]);
    expect((await client.listResources()).resources).toEqual([]);
    await expect(client.getPrompt({ name: "greet" })).rejects.toThrow('The MCP server "one" has no prompts/get.');
  });

  it("are empty for a server that starts for long, or does not answer", async () => {
    await using served = await serveEndpoint({
      slow: { silentAt: "initialize" },
      silent: { documents: true, silentAt: "prompts/list" },
    });
    const [slow, silent] = await Promise.all([served.connect("slow"), served.connect("silent")]);

    const lists = await Promise.all([
      slow.listTools(),
      slow.listPrompts(),
      slow.listResources(),
      slow.listResourceTemplates(),
      silent.listPrompts(),
    ]);

    expect(lists).toEqual([
      { tools: [] },
      { prompts: [] },
      { resources: [] },
      { resourceTemplates: [] },
      { prompts: [] },
    ]);
  });
});
