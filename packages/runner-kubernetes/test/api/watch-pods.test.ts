import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import type { PodChange } from "../../src/api/cluster.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";
import { connectFakeApi, toList, toObject, type Said } from "../helpers/fake-api.ts";

const event = (type: string, name: string, version = "2"): string =>
  `${JSON.stringify({ type, object: toObject(name, { metadata: { resourceVersion: version } }) })}\n`;
const open = (words: string) => (response: ServerResponse) => void response.writeHead(200).write(words);

/** Watches a server whose watches are these in turn; each list has the Pods of its turn, the last one again and again. */
async function watch(watches: readonly Said[], lists: readonly Said[]) {
  const clock = createFakeClock();
  let watched = 0;
  let listed = 0;
  const { cluster, heard } = await connectFakeApi(
    ({ url }) => {
      if (url.searchParams.has("watch")) return watches[watched++] ?? open("");
      return lists[Math.min(listed++, lists.length - 1)] ?? toList();
    },
    { clock },
  );
  const seen: string[] = [];
  const tell = ({ isGone, pod }: PodChange): void =>
    void seen.push(`${isGone ? "-" : "+"}${pod.name}@${pod.resourceVersion}`);
  const running = cluster.watchPods("x=y", tell);
  onTestFinished(() => running.close());
  return { clock, seen, heard, running };
}

it("tells what is there, each change once, and what is gone", async () => {
  const words = event("MODIFIED", "a") + event("MODIFIED", "a") + event("DELETED", "a") + event("MODIFIED", "a", "3");
  const { heard, running, seen } = await watch([open(words)], [toList(toObject("a"))]);
  await expect.poll(() => seen).toEqual(["+a@1", "+a@2", "-a@2"]);
  expect(heard[1]?.url.search).toContain("resourceVersion=7&timeoutSeconds=300");
  running.close();
  expect(await running.ended).toBeUndefined();
});

it.each<[string, Said]>([
  ["ends", (response) => void response.writeHead(200).end()],
  ["breaks within a line", (response) => void response.writeHead(200).write('{"type":"ADD', () => response.destroy())],
  ["sends a line of 10 MB", open("x".repeat(10_000_000))],
  ["sends what is no event", open('{"type":7}\n')],
  ["says that its version is too old", open(`${JSON.stringify({ type: "ERROR", object: { code: 410 } })}\n`)],
  ["is refused for its old version", { status: 410 }],
  ["is refused for now", { status: 500 }],
])("lists again after a watch that %s", async (_, bad) => {
  const { clock, seen } = await watch([bad], [toList(toObject("a")), toList(toObject("b"))]);
  await expect.poll(() => seen).toEqual(["+a@1"]);
  await expect.poll(() => (clock.advance(1_000), seen.length)).toBeGreaterThan(2);
  expect(seen).toEqual(["+a@1", "-a@1", "+b@1"]);
});

it("notices by a list every 30 s what a silent watch does not say, and replaces that after 330 s", async () => {
  const { clock, heard, seen } = await watch([open("")], [toList(toObject("a")), toList()]);
  const count = (): number => heard.filter(({ url }) => url.searchParams.has("watch")).length;
  await expect.poll(count).toBe(1);
  clock.advance(30_000);
  await expect.poll(() => seen).toEqual(["+a@1", "-a@1"]);
  expect(count()).toBe(1);
  clock.advance(300_000);
  await expect.poll(() => (clock.advance(1_000), count())).toBeGreaterThan(1);
});

const NO: Said = { status: 403, json: { message: "no" } };

it("ends when the cluster forbids it at first", async () => {
  const { running } = await watch([], [NO]);
  expect(await running.ended).toMatchObject({ code: "CONFIG_INVALID" });
});

it("outlives a refusal for some seconds, and ends after one for a minute", async () => {
  const { clock, running, seen } = await watch([NO], [toList(toObject("a")), NO, NO, toList(toObject("b")), NO]);
  let ended: Error | undefined;
  void running.ended.then((error) => (ended = error));
  await expect.poll(() => (clock.advance(500), seen)).toEqual(["+a@1", "-a@1", "+b@1"]);
  expect(ended).toBeUndefined();
  await expect.poll(() => (clock.advance(1_000), ended)).toMatchObject({ code: "CONFIG_INVALID" });
});
