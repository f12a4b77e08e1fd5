import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolders, toRoots } from "../../src/sidecar/pod-roots.ts";

it("folders in a volume that belongs to a group do not inherit that", async () => {
  const place = mkdtempSync(join(tmpdir(), "budgie-roots-"));
  try {
    // As Kubernetes makes a volume, and the hook a folder in it.
    mkdirSync(join(place, "home"));
    chmodSync(join(place, "home"), 0o2777);
    mkdirSync(join(place, "home/agent"));
    const roots = toRoots(place);
    expect(statSync(roots.home).mode & 0o2000).toBe(0o2000);

    await makeFolders(roots);

    expect([roots.home, roots.homeHidden, roots.shown].map((folder) => statSync(folder).mode & 0o7777)).toEqual([
      0o755, 0o755, 0o755,
    ]);
    mkdirSync(join(roots.home, "made"), { mode: 0o700 });
    expect(statSync(join(roots.home, "made")).mode & 0o7777).toBe(0o700);
  } finally {
    rmSync(place, { recursive: true });
  }
});
