import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { leadsOutside } from "../../src/changes/leads-outside.ts";
import { ROOT } from "../../src/walk/folder-path.ts";
import { openRootFolder, closeFolder } from "../../src/walk/open-folder.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("leadsOutside", () => {
  it.each([
    ["round in a circle", { round: "circle", circle: "round" }],
    ["along ever more steps", { round: "more", more: "./././more/more" }],
  ])("treats a symlink that leads %s as one that leads out, and terminates", async (_what, links) => {
    const workspace = createTemporaryFolder();
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(workspace, name));
    const root = await openRootFolder(workspace);

    expect(await leadsOutside(Buffer.from("round"), { root, workspace, folder: ROOT })).toBe(true);
    closeFolder(root);
  });
});
