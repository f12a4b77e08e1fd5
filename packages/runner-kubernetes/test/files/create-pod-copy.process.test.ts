import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { FilledEntry, FoundEntry } from "@budgie/core/copies";
import { createPodCopy } from "../../src/files/create-pod-copy.ts";
import { hideCovers } from "../../src/files/find-kinds.ts";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";
import { toLivePod } from "./to-live-pod.ts";

const file = (path: string, content: string): FilledEntry => ({
  entry: { path, kind: "file", mode: 0o644, size: content.length },
  content: Buffer.from(content),
});
const folder = (path: string): FilledEntry => ({ entry: { path, kind: "folder", mode: 0o755 } });

async function* each(...entries: readonly FilledEntry[]): AsyncGenerator<FilledEntry> {
  yield* entries;
}

async function begin() {
  const running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  const { lose, pod } = toLivePod(budgie.wire);
  const copy = createPodCopy({ session: createSessionId(), openPod: async () => pod });
  return { running, hold, budgie, pod, copy, lose };
}

/** Reads a copy, to its entries with the content of files. */
async function readAll(found: AsyncIterable<FoundEntry>) {
  const all: unknown[] = [];
  for await (const { content, entry } of found) all.push(content === undefined ? entry : [entry, await text(content)]);
  return all;
}

it("a copy is filled from nothing, and read with what an agent made of it", async () => {
  const { copy, running } = await begin();
  await using _running = running;
  const { tree } = running.roots;
  expect(await copy.fillId()).toBeUndefined();

  const first = await copy.fill(each(file("old", "old")));
  const id = await copy.fill(each(folder("a"), file("a/b", "content")));
  expect(id).not.toBe(first);
  expect(await copy.fillId()).toBe(id);
  expect(readdirSync(tree)).toEqual(["a"]);
  writeFileSync(join(tree, "a/b"), "changed");
  symlinkSync("/etc/passwd", join(tree, "a/link"));
  // As all folders of a volume that a cluster gives to a group.
  chmodSync(join(tree, "a"), 0o2755);

  expect(new Set(await readAll(copy.read()))).toEqual(
    new Set([
      [{ path: "a/b", kind: "file", mode: 0o644, size: 7 }, "changed"],
      { path: "a", kind: "folder", mode: 0o755 },
      { path: "a/link", kind: "link", target: "/etc/passwd" },
    ]),
  );
});

it("a reader may stop at any entry, and begin again", async () => {
  const { copy, running } = await begin();
  await using _running = running;
  const large = Buffer.alloc(8 * 2 ** 20, "large").toString();
  await copy.fill(each(file("a", large), file("b", large)));

  for (let round = 0; round < 3; round += 1)
    for await (const { content } of copy.read()) {
      content?.destroy();
      break;
    }
  expect(await readAll(copy.read())).toHaveLength(2);
});

it("a fill that fails, or is cancelled, leaves nothing that counts", async () => {
  const { copy, running } = await begin();
  await using _running = running;
  async function* failing(): AsyncGenerator<FilledEntry> {
    yield file("a", "a");
    throw new Error("The disk is broken.");
  }
  const over = new AbortController();
  async function* endless(): AsyncGenerator<FilledEntry> {
    for (let index = 0; ; index += 1) {
      if (index === 100) over.abort();
      yield file(`${index}`, "content");
    }
  }
  await copy.fill(each(file("a", "a")));
  await expect(copy.fill(failing())).rejects.toThrow("The disk is broken.");
  expect(await copy.fillId()).toBeUndefined();
  await expect(readAll(copy.read())).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await copy.fill(each(file("a", "a")));
  await expect(copy.fill(endless(), { signal: over.signal })).rejects.toThrow(
    expect.objectContaining({ code: "CANCELLED" }),
  );
  expect(await copy.fillId()).toBeUndefined();
  // The Pod's own words, in place of a broken stream.
  await expect(copy.fill(each(file("a/b", "a")))).rejects.toThrow(
    /could not be filled: the copier said "error 2 at a\/b"/,
  );

  const id = await copy.fill(each(file("a", "a")));
  expect(await copy.fillId()).toBe(id);
  expect(await readAll(copy.read())).toHaveLength(1);
});

it("a copy is lost with its Pod, and is another Pod's once that says so", async () => {
  const { copy, lose, pod, running } = await begin();
  await using _running = running;
  const id = await copy.fill(each(file("a", "a")));
  copy.leave();
  await lose();
  expect(await copy.fillId()).toBe(id);
  await expect(copy.findCovers(pod, {})).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });

  const next = toLivePod(pod.wire);
  await copy.enter(next.pod);
  expect(await copy.fillId()).toBe(id);
  expect(await copy.findCovers(next.pod, {})).toEqual([]);
  await next.lose();
  expect(await copy.fillId()).toBeUndefined();
});

it("a copy that another budgie left in a Pod has the id of its fill, unless that failed", async () => {
  const { budgie, copy, running } = await begin();
  await using _running = running;
  const id = await copy.fill(each(file("a", "a")));
  const other = createPodCopy({ session: createSessionId(), openPod: () => Promise.reject(new Error("none")) });
  expect(await other.fillId()).toBeUndefined();
  await other.enter(toLivePod(budgie.wire).pod);
  expect(await other.fillId()).toBe(id);

  await expect(copy.fill(each(file("a/b", "a")))).rejects.toThrow();
  await other.enter(toLivePod(budgie.wire).pod);
  expect(await other.fillId()).toBeUndefined();
});

it("a copy waits until a process of its session has ended", async () => {
  const { budgie, copy, hold, running } = await begin();
  await using _running = running;
  await copy.fill(each(file("a", "a")));
  const turn = budgie.startTurn();
  await hold.hear("S");
  const entries = readAll(copy.read());
  const first = await Promise.race([entries, budgie.ask({ purpose: "control", ask: "usage" })]);
  expect(first).toMatchObject({ last: { ok: true } });
  hold.say("E", [0, 0, 0]);

  await turn.last;
  expect(await entries).toHaveLength(1);
});

it("paths that could redefine an agent are hidden for a turn, and a link in their place is refused", async () => {
  const { budgie, copy, hold, pod, running } = await begin();
  await using _running = running;
  const { tree } = running.roots;
  const hidden = {
    ".kiro": { entries: { agents: "empty folder", "mcp.json": { content: "{}" } } },
    "AGENTS.md": { content: "" },
    ".none": "empty folder",
  } as const;
  await copy.fill(
    each(folder(".kiro"), folder(".kiro/agents"), file(".kiro/agents/one", "planted"), file("AGENTS.md", "planted")),
  );

  const covers = await copy.findCovers(pod, { hidden });
  expect(covers.map(({ path }) => path)).toEqual([".kiro/agents", "AGENTS.md"]);
  await hideCovers(pod.wire, covers);
  const turn = budgie.startTurn();
  await hold.hear("S");
  expect(readdirSync(join(tree, ".kiro/agents"))).toEqual([]);
  expect(readFileSync(join(tree, "AGENTS.md"), "utf8")).toBe("");
  expect(existsSync(join(tree, ".none"))).toBe(false);
  hold.say("E", [0, 0, 0]);
  await turn.last;
  expect(readFileSync(join(tree, ".kiro/agents/one"), "utf8")).toBe("planted");

  mkdirSync(join(tree, "elsewhere"));
  symlinkSync("elsewhere", join(tree, ".none"));
  await expect(copy.findCovers(pod, { hidden })).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  expect(statSync(join(tree, "elsewhere")).isDirectory()).toBe(true);
});
