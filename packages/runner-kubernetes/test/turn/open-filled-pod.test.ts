import { json } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createGate } from "../../src/proof/index.ts";
import { openFilledPod } from "../../src/turn/open-filled-pod.ts";
import { startFakePods } from "../start-fake-pods.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

/** Prints what `hold probe` does of these outcomes. The own node is not for the policy to keep. */
const say = (words: readonly string[], outcome: string): string =>
  words
    .map((word) => {
      const isReached = word === "tcp:127.0.0.1:3128" || (outcome !== "denied" && word.startsWith("tcp:10.1.0.2:"));
      return `${word} ${isReached ? "connected" : outcome}\n`;
    })
    .join("");

/** Opens a Pod whose sidecar's attempts come to this, and lists what was done with it. */
async function open(beside: string) {
  const pods = await startFakePods(async (request, { input, output }) => {
    if (request === "control probe") output.write(say((await json(input)) as readonly string[], beside));
    return undefined;
  });
  const gate = createGate(pods.place.cluster, { accepted: [], ports: [], pauseMs: 0, reach: async () => false });
  const opening = openFilledPod(
    { gate, place: async () => pods.place, trust: { pem: Buffer.from("pem"), java: Buffer.from("java") } },
    {
      session: createSessionId(),
      shape: SHAPE,
      onStream: () => undefined,
      wait: { limitMs: 60_000 },
      fill: async () => void pods.did.push("fill"),
      processes: {
        print: async (_pod, { argv: [, verb, ...words] }) => {
          pods.did.push(`run ${verb}`);
          return verb === "scan" ? `scanned ${words[1]} ${words[2]}\n` : say(words.slice(1), "denied");
        },
      },
    },
  );
  pods.start(true);
  return { pods, opening };
}

it("a Pod gets nothing of the user's, and no process but the proof's, before its walls are proven", async () => {
  const { opening, pods } = await open("timeout");
  const pod = await opening;

  const proof = ["exec", "control hello", "control probe", "control kernel", "run probe", "run scan"];
  const filling = ["file trust", "file trust", "fill"];
  expect(pods.did.toSorted()).toEqual([...proof, ...filling].toSorted());
  expect(pods.did.slice(-filling.length)).toEqual(filling);
  await pod.remove();
  await pods[Symbol.asyncDispose]();
});

it("a Pod gets nothing and is removed if its sidecar got through, though the agent's container did not", async () => {
  const { opening, pods } = await open("connected");

  await expect(opening).rejects.toThrow("the network policy did not keep a process from");
  expect(pods.did).not.toContain("fill");
  expect(pods.did).not.toContain("file trust");
  expect(pods.did.at(-1)).toBe("remove");
  await pods[Symbol.asyncDispose]();
});
