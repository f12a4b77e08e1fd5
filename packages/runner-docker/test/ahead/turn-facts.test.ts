import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContainerCreateOptions } from "dockerode";
import { afterEach, beforeEach, expect, it } from "vitest";
import { toHidden, type Command } from "@budgie/core";
import { toTurnFacts, type TurnPlan } from "../../src/ahead/turn-facts.ts";
import { holdTurnMounts } from "../../src/sandbox/mounts.ts";

const COVERED: Command["hidden"] = {
  ".agent": { entries: { settings: { content: "none" } } },
  "AGENT.md": "empty folder",
};

let root: string;
let workspace: string;
let plans = 0;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-facts-")));
  workspace = join(root, "workspace");
  mkdirSync(join(workspace, ".agent"), { recursive: true });
  symlinkSync("one", join(workspace, ".agent/link"));
  for (const name of ["shown", "settings"]) writeFileSync(join(workspace, ".agent", name), "");
  for (const name of ["passwd", "resolv", "hosts", "depth", "agent.md"]) writeFileSync(join(root, name), "");
});
afterEach(() => rmSync(root, { recursive: true }));

it("are the same for a turn that is made again later", async () => {
  const first = await factsOf();
  writeFileSync(join(root, "agent.md"), "the same file, whose new content a container shows too");

  expect(await factsOf()).toBe(first);
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
])("differ if %s", async (_, change) => {
  const first = await factsOf();
  change();

  expect(await factsOf()).not.toBe(first);
});

it.each<[string, Partial<Facts>]>([
  ["the content of a cover", { hidden: { ...COVERED, ".agent": { entries: { settings: { content: "more" } } } } }],
  ["the image", { body: { Image: "sha256:other" } }],
  ["a limit", { body: { HostConfig: { Memory: 1 } } }],
  ["a label besides the time", { body: { Labels: { "dev.budgie.instance": "other" } } }],
  ["the run of the session's container", { networkRun: "another run" }],
])("differ in %s", async (_, changes) => {
  expect(await factsOf(changes)).not.toBe(await factsOf());
});

type Facts = { readonly hidden: Command["hidden"]; readonly body: ContainerCreateOptions } & Pick<
  TurnPlan,
  "networkRun"
>;

async function factsOf({ body, hidden = COVERED, networkRun = "a run" }: Partial<Facts> = {}): Promise<string> {
  const skeleton = join(root, `skeleton-${plans++}`);
  await using held = await holdTurnMounts({
    volumes: { home: { name: "home", labels: {} }, auth: { name: "auth", labels: {} } },
    workspace,
    workspaceMode: "rw",
    protectedPaths: [],
    projections: [{ source: join(root, "agent.md"), home: ".agent/agent.md" }],
    hidden: toHidden({ hidden }),
    network: "none",
    caFile: undefined,
    skeleton,
    passwdFile: join(root, "passwd"),
    resolvFile: join(root, "resolv"),
    hostsFile: join(root, "hosts"),
    nestingFile: join(root, "depth"),
  });
  const Labels = { "dev.budgie.created": String(plans), "dev.budgie.instance": "this" };
  const Mounts = held.mounts.map(({ settings }) => settings);
  return toTurnFacts({ body: { Labels, HostConfig: { Mounts }, ...body }, held, skeleton, networkRun });
}

/** Puts another file at a path, as editors do. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, "");
  renameSync(`${path}.new`, path);
}
