import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Command } from "@budgie/core";
import { sandboxKey } from "../../src/standby/sandbox-key.ts";
import { holdMounts } from "../../src/mounts/held-mounts.ts";

const COVERED: Command["hidden"] = {
  ".agent": { entries: { settings: { content: "none" } } },
  "AGENT.md": "empty folder",
};

let root: string;
let workspace: string;
let plans = 0;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-key-")));
  workspace = join(root, "workspace");
  mkdirSync(join(workspace, ".agent"), { recursive: true });
  symlinkSync("one", join(workspace, ".agent/link"));
  for (const name of ["shown", "settings"]) writeFileSync(join(workspace, ".agent", name), "");
  for (const name of ["passwd", "resolv", "hosts", "depth", "agent.md"]) writeFileSync(join(root, name), "");
});
afterEach(() => rmSync(root, { recursive: true }));

it("is the same for a sandbox that is planned again later", async () => {
  const first = await keyOf();
  writeFileSync(join(root, "agent.md"), "the same file, whose new content a container shows too");

  expect(await keyOf()).toBe(first);
  expect(first).not.toContain("skeleton-");
});

it.each([
  ["another file is at the path of a mounted one", () => replace(join(root, "agent.md"))],
  ["a shown entry of a covered folder was replaced", () => replace(join(workspace, ".agent/shown"))],
  ["a covered folder has one more entry", () => writeFileSync(join(workspace, ".agent/more"), "")],
  [
    "a symlink in a covered folder leads elsewhere",
    () => {
      rmSync(join(workspace, ".agent/link"));
      symlinkSync("two", join(workspace, ".agent/link"));
    },
  ],
])("differs if %s", async (_, change) => {
  const first = await keyOf();
  change();

  expect(await keyOf()).not.toBe(first);
});

it.each<[string, Partial<Given>]>([
  ["the content of a cover", { hidden: { ...COVERED, ".agent": { entries: { settings: { content: "more" } } } } }],
  ["the image", { body: { Image: "sha256:other" } }],
  ["a limit", { body: { HostConfig: { Memory: 1 } } }],
  ["a label", { body: { Labels: { "dev.budgie.instance": "other" } } }],
])("differs in %s", async (_, changes) => {
  expect(await keyOf(changes)).not.toBe(await keyOf());
});

type Given = { readonly hidden: Command["hidden"]; readonly body: object };

async function keyOf({ body, hidden = COVERED }: Partial<Given> = {}): Promise<string> {
  const skeleton = join(root, `skeleton-${plans++}`);
  await using held = await holdMounts({
    volumes: { home: { name: "home", labels: {} }, auth: { name: "auth", labels: {} } },
    command: { hidden, projections: [{ source: join(root, "agent.md"), home: ".agent/agent.md" }] },
    options: { directory: workspace },
    network: { mode: "none" },
    caFile: undefined,
    skeleton,
    passwdFile: join(root, "passwd"),
    resolvFile: join(root, "resolv"),
    hostsFile: join(root, "hosts"),
    nestingFile: join(root, "depth"),
  });
  const Labels = { "dev.budgie.instance": "this" };
  const Mounts = held.mounts.map(({ settings }) => settings);
  return sandboxKey({ body: { Labels, HostConfig: { Mounts }, ...body }, held, skeleton });
}

/** Puts another file at a path, as editors do. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, "");
  renameSync(`${path}.new`, path);
}
