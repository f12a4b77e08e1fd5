import { join } from "node:path";
import { expect, it } from "vitest";
import { readEntries } from "../../src/selection/read-entries.ts";
import { createTree } from "../helpers/create-tree.ts";
import { listOpen } from "../helpers/list-open.ts";
import { select } from "../helpers/select.ts";

it("A large file that nobody reads to its end is closed", async () => {
  const root = createTree({ "large.bin": "x".repeat(9 * 1024 ** 2) });
  const selection = await select(root);

  for await (const { content } of readEntries(selection, { onEntry: () => undefined })) {
    expect(content).toBeDefined();
    expect(listOpen(root)).toContain(join(root, "large.bin"));
    break;
  }

  await expect.poll(() => listOpen(root)).toEqual([]);
});
