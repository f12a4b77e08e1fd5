import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "@budgie/core";
import { listHomeFiles } from "../../src/agents/list-home-files.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-home-files-")));
  for (const folder of ["workspace", "login"]) mkdirSync(join(root, folder));
  writeFileSync(join(root, "login/auth.json"), "{}");
  writeFileSync(join(root, "workspace/auth.json"), "{}");
  symlinkSync(join(root, "login/auth.json"), join(root, "workspace/link.json"));
  symlinkSync(join(root, "workspace/auth.json"), join(root, "login/link.json"));
  symlinkSync(join(root, "workspace"), join(root, "login/folder"));
});
afterEach(() => rmSync(root, { recursive: true }));

function toAgent(file: string): Agent {
  const home = { ".codex/auth.json": join(root, file) };
  return {
    name: "coder",
    description: "Codes.",
    whenToUse: "",
    file: "budgie.json",
    promptFile: undefined,
    writesFiles: false,
    program: { argv: ["coder"], home, permission: "allow" },
    model: undefined,
    hasModel: false,
  };
}

const load = (file: string) => listHomeFiles(toAgent(file), join(root, "workspace"));

describe("listHomeFiles", () => {
  it("returns files outside the workspace, also missing ones", () => {
    expect(load("login/auth.json")).toEqual([
      { path: ".codex/auth.json", content: { file: join(root, "login/auth.json") } },
    ]);
    expect(load("login/missing.json")).toHaveLength(1);
    expect(load("workspace-of-another/auth.json")).toHaveLength(1);
  });

  it.each([
    "workspace/auth.json",
    "workspace/missing.json",
    "workspace/link.json",
    "login/link.json",
    "login/folder/auth.json",
  ])("refuses %s, which an agent can replace", (file) => {
    expect(() => load(file)).toThrow(
      `"${join(root, file)}", which the agent "coder" (budgie.json) gets in its home, lies in the directory that it works in`,
    );
  });

  it("returns nothing for an agent without files", () => {
    expect(listHomeFiles({ ...toAgent("x"), program: undefined }, root)).toEqual([]);
  });
});
