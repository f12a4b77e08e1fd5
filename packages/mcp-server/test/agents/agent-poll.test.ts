import { afterEach, describe, expect, it } from "vitest";
import { createAgentPoll, type AgentPoll } from "../../src/agents/agent-poll.ts";
import { waitFor } from "../../../cli/test/helpers/start-budgie.ts";

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

describe("createAgentPoll", () => {
  let running: AgentPoll | undefined;

  afterEach(() => running?.close());

  function start(hasChanged: () => boolean, onChange?: () => void) {
    const seen = { changes: 0, lines: [] as string[] };
    running = createAgentPoll({
      hasChanged,
      onChange: onChange ?? (() => void seen.changes++),
      report: (line) => void seen.lines.push(line),
      intervalMs: 10,
    });
    running.start();
    return seen;
  }

  it("reports a change once, 0.3 s after it was found", async () => {
    let isChanged = false;
    const seen = start(() => isChanged);
    await pause(50);
    expect(seen.changes).toBe(0);

    isChanged = true;
    await pause(100);
    expect(seen.changes).toBe(0);
    isChanged = false;
    await waitFor(() => seen.changes === 1);
    await pause(400);

    expect(seen.changes).toBe(1);
  });

  it("reports endless changes, again and again", async () => {
    const seen = start(() => true);

    await waitFor(() => seen.changes >= 2);
  });

  it("reports nothing after it was closed", async () => {
    let looks = 0;
    const seen = start(() => ++looks > 0);
    await waitFor(() => looks > 0);

    running?.close();
    const before = looks;
    await pause(500);

    expect(seen.changes).toBe(0);
    expect(looks).toBe(before);
  });

  it.each(["look", "settle"])("survives a %s that throws, reports it once, and continues", async (kind) => {
    let calls = 0;
    const fail = (): never => {
      calls++;
      throw new Error("a bug");
    };
    const seen = kind === "look" ? start(fail) : start(() => true, fail);

    await waitFor(() => calls > 1);

    expect(seen.lines).toEqual([expect.stringMatching(/^Cannot reload the agents: Error: a bug/)]);
  });
});
