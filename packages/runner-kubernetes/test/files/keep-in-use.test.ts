import { expect, it } from "vitest";
import type { PodCopy } from "../../src/files/create-pod-copy.ts";
import { keepInUse } from "../../src/files/keep-in-use.ts";

const FOUND = { entry: { path: "a", kind: "folder", mode: 0o755 } } as const;

it("a Pod is in use while its copy is filled or read, and not afterwards, however that ends", async () => {
  const said: string[] = [];
  const copy: Pick<PodCopy, "fill" | "read"> = {
    async fill() {
      said.push("fill");
      throw new Error("the wire broke");
    },
    async *read() {
      said.push("read");
      yield FOUND;
      yield FOUND;
    },
  };
  const use = { begin: () => void said.push("begin"), end: () => void said.push("end") };
  const kept = keepInUse(copy as PodCopy, use);

  await expect(kept.fill((async function* () {})())).rejects.toThrow("the wire broke");
  for await (const found of kept.read()) {
    said.push(found.entry.path);
    break;
  }
  expect(said).toEqual(["begin", "fill", "end", "begin", "read", "a", "end"]);
});
