import { expect, it } from "vitest";
import { createGate } from "../../src/proof/gate.ts";

const OWN = "tcp:127.0.0.1:3128";
const toPod = (nodeAddress: string) => ({
  nodeAddress,
  service: undefined,
  kernel: { landlock: 6, ports: [32_768, 60_999] as const },
});

const say = (words: readonly string[], outcome: string): string =>
  words.map((word) => `${word} ${word === OWN ? "connected" : outcome}\n`).join("");

/** Creates a gate whose Pods have both walls, and counts the scans of their nodes. */
function createScanned(scan: (count: number) => string) {
  const scanned: string[] = [];
  const gate = createGate(
    { server: new URL("https://192.0.2.7:6443") },
    { accepted: [], ports: [], pauseMs: 0, reach: async () => false },
  );
  const prove = (nodeAddress: string) =>
    gate.prove(toPod(nodeAddress), {
      probe: async (words) => say(words, "timeout"),
      run: async ({ argv: [, verb, ...words], ports }) => {
        if (verb !== "scan") return say(words.slice(1), ports === undefined ? "timeout" : "denied");
        scanned.push(words[0] ?? "");
        return scan(scanned.length);
      },
    });
  return { scanned, prove };
}

it("a node is scanned once for the Pods that begin on it, and another node by itself", async () => {
  const { prove, scanned } = createScanned(() => "scanned 1 65535\n");
  await Promise.all([prove("10.1.0.2"), prove("10.1.0.2")]);
  await prove("10.1.0.2");
  await prove("10.1.0.3");
  expect(scanned).toEqual(["10.1.0.2", "10.1.0.3"]);
});

it("a node is scanned again after a scan that failed or found something", async () => {
  const { prove, scanned } = createScanned((count) => {
    if (count === 1) throw new Error("the turn was cancelled");
    return `${count === 2 ? "40123 open\n" : ""}scanned 1 65535\n`;
  });
  await expect(prove("10.1.0.2")).rejects.toThrow("cancelled");
  await expect(prove("10.1.0.2")).rejects.toThrow("40123");
  expect(await prove("10.1.0.2")).toEqual([]);
  expect(scanned.length).toBe(3);
});
