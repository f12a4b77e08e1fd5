import { describe, expect, it } from "vitest";
import { toOffered } from "./helpers/offered.ts";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE, type ScriptedAgent } from "./helpers/scripted-agent.ts";
import { create } from "./helpers/warm-place.ts";

/** Creates a program with these capabilities. */
function createProgram(agentCapabilities: object): ScriptedAgent {
  return createScriptedAgent({
    ...POLITE,
    initialize: () => ({ protocolVersion: 1, agentCapabilities }),
    "session/resume": () => ({}),
  });
}

function listGiven({ received }: ScriptedAgent): readonly (readonly [string, unknown])[] {
  return received.flatMap(({ method, params }) => {
    const { mcpServers } = Object(params) as { readonly mcpServers?: unknown };
    return mcpServers === undefined ? [] : [[method, mcpServers] as const];
  });
}

const ONE = [{ type: "http", name: "one", url: "http://127.0.0.1:3128/one", headers: [] }];
const TWO = [{ type: "http", name: "two", url: "http://127.0.0.1:3128/two", headers: [] }];

describe("MCP servers that a turn offers", () => {
  it.each([
    ["session/load", { loadSession: true }],
    ["session/resume", { sessionCapabilities: { resume: {} } }],
  ])("are given to the program as ACP has them, those of now with %s", async (method, resuming) => {
    const program = createProgram({ ...resuming, mcpCapabilities: { http: true, sse: false } });

    await run(program, { offered: toOffered("one", refuse) });
    await run(program, { offered: toOffered("two", refuse), resume: true });

    expect(listGiven(program)).toEqual([
      ["session/new", ONE],
      [method, TWO],
    ]);
  });

  it.each([{}, { mcpCapabilities: { http: false, sse: true } }, { mcpCapabilities: { http: "yes" } }])(
    "are kept from a program that does not take them, and the caller is told: %j",
    async (capabilities) => {
      const program = createProgram({ loadSession: true, ...capabilities });
      let refused = 0;

      await run(program, { offered: toOffered("one", () => void refused++) });
      await run(program, { offered: { servers: [], onRefused: refuse } });

      expect(listGiven(program).map(([, servers]) => servers)).toEqual([[], []]);
      expect(refused).toBe(1);
    },
  );

  it("that a program does not take are told in each turn of its process", async () => {
    let refused = 0;
    const { agent, ask, place } = create();
    place.offered = toOffered("one", () => void refused++);

    const { sessionId } = await ask();
    await ask({ sessionId });

    expect(agent.processes).toHaveLength(1);
    expect(refused).toBe(2);
  });
});

function refuse(): void {
  throw new Error("It takes them.");
}
