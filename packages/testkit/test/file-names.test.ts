import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findNameFaults } from "./helpers/find-name-faults.ts";
import { PACKAGES, readSources } from "./helpers/read-sources.ts";
import { LONGEST } from "../../../vitest.config.ts";

// The files without a main export, by the ends of their paths, and why.
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "conversation/kiro-conversation.ts": "the steps that only Kiro's conversations need",
  "probe/verdicts.ts": "the verdicts, and the judges that return them",
  "core/src/egress.ts": "a subpath of the package: all that is known of egress",
  "core/src/errors.ts": "a subpath of the package: the error and its parts",
  "kiro/kiro-output.ts": "the readers of one text",
  "commands/engine-commands.ts": "three commands that need an engine",
  "config/host-paths.ts": "the folders of one machine",
  "connection/request-schemas.ts": "schemas",
  "tools/tool-output.ts": "schemas",
  "options/option-values.ts": "schemas",
  "config/section-keys.ts": "schemas",
  "copier/copy-errors.ts": "what may be wrong with a copy's volume",
  "sandbox/container-options.ts": "the containers of one profile, whose diff is reviewed together",
};

it("each source file has the name of its main export", () => {
  const sources = readdirSync(PACKAGES).flatMap((name) =>
    [...readSources(join(PACKAGES, name, "src"))].map(([file, text]) => [`${name}/src/${file}`, text] as const),
  );

  expect(findNameFaults(new Map(sources), Object.keys(EXCEPTIONS))).toEqual([]);
});

describe("a source file", () => {
  it.each([
    ["find-agent.ts", "export async function findAgent() {}"],
    ["find-agent.ts", "export function findAgent() {}\nexport function listAgents() {}"],
    ["session.ts", "export function createSession() {}"],
    ["run-commands.ts", "export function addRunCommands() {}"],
    ["session-id.ts", "export type SessionId = string;\nexport function isSessionId() {}"],
    ["explain-url-error.ts", "export const explainURLError = () => undefined;"],
    ["limits.ts", "export const MOST = 1;"],
    ["agent-presets.ts", "export const AGENT_PRESETS = [];\nexport function findPreset() {}"],
    ["index.ts", `export { findAgent } from "./find-agent.ts";`],
  ])("may be called %s if it holds %j", (file, text) => {
    expect(findNameFaults(new Map([[file, text]]), [])).toEqual([]);
  });

  it.each([
    ["agents.ts", "export function findAgent() {}", "agents.ts exports findAgent."],
    ["agent.ts", "export function findAgent() {}\nexport type Agents = 1;", "agent.ts exports findAgent, Agents."],
    ["limits.ts", "export const MOST = 1;\nexport function isOver() {}", "limits.ts exports MOST, isOver."],
  ])("may not be called %s if it holds %j", (file, text, fault) => {
    expect(findNameFaults(new Map([[file, text]]), [])).toEqual([fault]);
  });

  it("that has got its name is no exception any more", () => {
    expect(findNameFaults(new Map([["a.ts", "export const a = 1;"]]), ["a.ts"])).toEqual([
      "a.ts is no exception any more.",
    ]);
  });
});

describe("the list of test files that start first", () => {
  it("names files that are there, once", () => {
    expect(LONGEST.filter((name) => !existsSync(join(PACKAGES, "..", name)))).toEqual([]);
    expect(new Set(LONGEST).size).toBe(LONGEST.length);
  });
});
