import { TurnEvents } from "@budgie/core/protocol";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readEvents } from "../../src/a2a/http/read-events.ts";
import { createFiles, run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { CARD, sendEvent, WIRES, withCard } from "./helpers/wires.ts";

it.each(["\n", ":\n", "id: 1\n"])("a stream of many lines %j without data is read at a limited rate", async (line) => {
  const read = async (lines: number): Promise<number> => {
    const begunMs = performance.now();
    for await (const event of readEvents(Readable.from([Buffer.from(line.repeat(lines))]), "it"))
      expect(event).toBe("");
    return performance.now() - begunMs;
  };

  // Within the burst; the 20,000 lines beyond it are a second.
  expect(await read(100_000)).toBeLessThan((await read(120_000)) - 500);
});

describe("a stream of many events", () => {
  it("lets other work go on between them", async () => {
    const server = await serve(
      withCard(CARD, (_call, response) => {
        const piece = { artifactUpdate: { append: true, artifact: { parts: [{ text: "x" }] } } };
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`data: ${JSON.stringify({ result: piece })}\n\n`.repeat(5000));
        sendEvent(response, WIRES[0].status("completed"));
        response.end();
      }),
    );
    let [atOnce, most, isOver] = [0, 0, false];
    const events = new TurnEvents().on("output", () => void (most = Math.max(most, ++atOnce)));
    const turn = run(server.url, { events }).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      atOnce = 0;
      await setImmediate();
    }

    expect((await turn).response).toBe("x".repeat(5000));
    expect(most).toBeLessThanOrEqual(200);
  });

  it("has few of its values parsed in a second", async () => {
    const server = await serve(
      withCard(CARD, (_call, response) => {
        for (let number = 0; number < 8; number++) sendEvent(response, { unknown: Array(24_000).fill({}) });
        sendEvent(response, WIRES[0].status("completed", "Done."));
        response.end();
      }),
    );
    const began = performance.now();

    expect((await run(server.url)).response).toBe("Done.");
    // 384,000 values at 100,000 a second, after a burst of 200,000
    expect(performance.now() - began).toBeGreaterThan(1400);
  });

  it.each(WIRES)("of A2A $version keeps one new conversation, however many it names", async ({ card, status }) => {
    const session = createFiles();
    const server = await serve(
      withCard(card, (_call, response) => {
        const event = JSON.stringify(status("working"));
        for (let turn = 1; turn <= 300; turn++) sendEvent(response, JSON.parse(event.replace('"c1"', `"c${turn}"`)));
        sendEvent(response, JSON.parse(JSON.stringify(status("completed", "Done.")).replace('"c1"', '"c301"')));
        response.end();
      }),
    );

    await run(server.url, { session });

    expect([...session.files.values()]).toEqual(['{"context":"c1"}\n']);
  });
});
