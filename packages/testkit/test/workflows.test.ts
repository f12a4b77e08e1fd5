import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { describe, expect, it } from "vitest";
import { PACKAGES } from "./helpers/read-sources.ts";

const FOLDER = join(dirname(PACKAGES), ".github/workflows");
const NAMES = readdirSync(FOLDER);

describe("the forge's workflows", () => {
  it.each(NAMES)("%s is one by the forge's own schema, and says that it never ran", (name) => {
    const content = readFileSync(join(FOLDER, name), "utf8");

    expect(findErrors(content, name)).toEqual([]);
    expect(content).toMatch(/^# Never run yet: /);
  });

  it("are parsed by something that finds faults", () => {
    const content = readFileSync(join(FOLDER, "ci.yml"), "utf8");

    expect(findErrors(content.replace("runs-on:", "run-on:"), "ci.yml").join()).toContain("run-on");
    expect(findErrors(content.replace("- run: npm ci", "- run npm ci"), "ci.yml")).not.toEqual([]);
  });

  it("run what the project's own check runs", () => {
    expect(readFileSync(join(FOLDER, "ci.yml"), "utf8")).toContain("- run: .ci/run\n");
    const scripts = Object.keys(
      (JSON.parse(readFileSync(join(dirname(PACKAGES), "package.json"), "utf8")) as Manifest).scripts,
    );
    const used = NAMES.flatMap((name) => [...readFileSync(join(FOLDER, name), "utf8").matchAll(/npm run ([\w:]+)/g)]);
    expect(used.map(([, script]) => script).filter((script) => !scripts.includes(script ?? ""))).toEqual([]);
  });
});

type Manifest = { readonly scripts: Readonly<Record<string, string>> };

function findErrors(content: string, name: string): readonly string[] {
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => message);
}
