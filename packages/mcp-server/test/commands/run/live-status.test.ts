import { expect, it } from "vitest";
import { createLiveStatus } from "../../../src/commands/run/live-status.ts";

it("bounds and sanitizes what an agent and its hosts put into a terminal's last line", () => {
  const shown: string[] = [];
  const status = createLiveStatus({ show: (text) => shown.push(text), clear: () => undefined });
  const denied = Array.from({ length: 20 }, (_, index) => {
    return { host: `${index}-${"h".repeat(300)}`, port: 443, count: 1, why: "not on the allow-list" };
  });

  status.onEgress?.({ allowed: [], denied });
  for (let index = 0; index < 100; index++) status.onOutput?.(Buffer.from("x".repeat(10_000)), "stdout");
  status.onOutput?.(Buffer.from("\u001B]0;title\u0007\u009B2Jthe end\r"), "stdout");
  const sinceMs = performance.now();
  status.onProgress?.({ agent: "worker", runId: "1", sessionId: undefined, phase: "running", attempt: 1, sinceMs });
  status.clear();

  const [line = ""] = shown;
  expect(line).toMatch(/^worker: running {2}\| {2}refused: 0-h+, 1-h+, 2-h+, 3-h+, 4-h+ {2}\| {2}x+the end$/);
  expect(line).not.toMatch(/\p{Cc}/u);
  expect(line.length).toBeLessThan(5_000);
});
