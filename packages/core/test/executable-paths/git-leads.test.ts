import { describe, expect, it } from "vitest";
import { findGitLeads } from "../../src/executable-paths/git-leads.ts";
import { holdRoot, letGo } from "../../src/walk/held-folder.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { write } from "../helpers/executable-repository.ts";

describe("findGitLeads", () => {
  it("keeps no more steps of a path than are gone", async () => {
    const inside = await findInside(`[core]\n\thooksPath = ${"a/".repeat(2000)}hooks\n`);

    const steps = [...inside].filter(([, what]) => what === "on-the-way");
    // From the workspace, and from its .git.
    expect(steps.length).toBeLessThanOrEqual(2 * 65);
    expect(inside.get(`${"a/".repeat(64)}a`)).toBe("on-the-way");
  });

  it("takes paths that are looked at", async () => {
    const inside = await findInside(`[core]\n\thooksPath = ${"a/".repeat(60)}hooks\n`);

    expect(inside.get(`${"a/".repeat(60)}hooks`)).toBe("named");
  });
});

async function findInside(config: string): Promise<ReadonlyMap<string, string>> {
  const workspace = createTemporaryFolder();
  write(workspace, ".git/config", config);
  const root = await holdRoot(workspace);
  try {
    return (await findGitLeads(root, workspace)).inside;
  } finally {
    letGo(root);
  }
}
