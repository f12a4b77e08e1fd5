import { expect, it } from "vitest";
import { connectFakeApi, type Said } from "../helpers/fake-api.ts";

const toEvent = (container: string): string =>
  `${JSON.stringify({ type: "ADDED", object: { involvedObject: { fieldPath: `spec.containers{${container}}` } } })}\n`;

/** Asks an API server that says this of a Pod's events. */
async function hear(said: Said, signal = new AbortController().signal) {
  const { cluster, heard } = await connectFakeApi(() => said);
  return { heard, started: cluster.hearStart({ uid: "uid-made", resourceVersion: "41" }, "budgie", signal) };
}

it("the start of a container is heard by its event, of this Pod alone and since it was created", async () => {
  const { heard, started } = await hear((response) => {
    response.writeHead(200).write("\nnonsense\n");
    response.write(`${toEvent("agent")}${toEvent("budgie")}`);
  });

  expect(await started).toBe(true);
  expect(heard[0]?.url.pathname).toBe("/api/v1/namespaces/agents/events");
  expect(heard[0]?.url.searchParams.get("fieldSelector")).toBe("involvedObject.uid=uid-made,reason=Started");
  expect(heard[0]?.url.searchParams.get("resourceVersion")).toBe("41");
});

it.each<[string, Said]>([
  ["ends", (response) => response.writeHead(200).end(toEvent("agent"))],
  ["breaks", (response) => response.writeHead(200).write(toEvent("agent"), () => response.destroy())],
  ["begins too late", (response) => response.writeHead(200).end('{"type":"ERROR","object":{"code":410}}\n')],
  ["is forbidden", { status: 403 }],
  ["is forbidden, and says so all the same", (response) => response.writeHead(403).end(toEvent("budgie"))],
  ["sends a line of 2 MB", (response) => response.writeHead(200).end("x".repeat(2_000_000))],
])("nothing is heard of a start from a watch that %s", async (_what, said) => {
  expect(await (await hear(said)).started).toBe(false);
});

it("the wait for a start ends with its signal", async () => {
  const over = new AbortController();
  const { started } = await hear((response) => (response.writeHead(200).write("\n"), over.abort()), over.signal);

  expect(await started).toBe(false);
});
