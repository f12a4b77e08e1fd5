import { expect, it } from "vitest";
import type { SandboxFacts } from "@budgie/runner-docker";
import {
  findingLines,
  listSqliteFindings,
  withoutRepeats,
  type Finding,
} from "../../../src/commands/findings/finding.ts";
import { listSandboxFindings } from "../../../src/commands/doctor/list-sandbox-findings.ts";
import { parseConfig } from "../../../src/config/config.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

const FINDING: Finding = { state: "note", what: "caller", text: "One two three four five six seven eight nine ten." };
const plain = (_: unknown, text: string): string => text;

it.each([
  [60, "note    caller     One two three four five six seven eight\n                   nine ten.\n"],
  [80, "note    caller     One two three four five six seven eight nine ten.\n"],
  [undefined, "note    caller     One two three four five six seven eight nine ten.\n"],
])("a finding is wrapped below itself in %s columns", (columns, lines) => {
  expect(findingLines([FINDING], plain, columns)).toBe(lines);
});

it("a missing SQLite comes with the command that installs it", () => {
  expect(listSqliteFindings(undefined)).toEqual([]);
  expect(listSqliteFindings("none works")).toMatchObject([
    {
      state: "failed",
      text: "none works",
      todo: expect.stringMatching(/^npm install -g budgie-mcp --include=optional /),
    },
  ]);
});

it("a missing SQLite is told once, and not as the fault of all that needs it", () => {
  const sqlite: Finding = { state: "failed", what: "sqlite", text: "SQLite is missing." };
  const needy = ["login", "egress"].map((what): Finding => ({ state: "failed", what, text: "budgie needs SQLite." }));

  expect(withoutRepeats([FINDING, ...needy, sqlite])).toEqual([FINDING, sqlite]);
  expect(withoutRepeats([FINDING, ...needy])).toEqual([FINDING, ...needy]);
});

const SSH = "ssh://me@there";

it.each([
  [SSH, {}, "failed"],
  [SSH, { allowRemoteCopy: true }, "note"],
  [SSH, { workspace: "rw" }, undefined],
  ["unix:///x", { workspace: "copy" }, undefined],
])("doctor says of copies on the engine %s with %j: %s", (endpoint, values, state) => {
  const host = toSilentHost({ home: "/home/me", cwd: "/", env: { DOCKER_HOST: endpoint } });
  const engine = {
    name: "Docker",
    version: "28",
    apiVersion: "1.44",
    endpoint,
    platform: "linux/amd64",
    protections: [],
  };
  const lack = { ok: false, problem: "none" } as const;
  const facts = {
    engine: { ok: true, facts: engine },
    image: lack,
    program: lack,
    notices: [],
  } as unknown as SandboxFacts;

  const findings = listSandboxFindings(facts, parseConfig({ sandbox: true, ...values }, host), host);

  const copies = findings.find(({ what }) => what === "copies");
  expect(copies?.state).toBe(state);
  if (state === "failed") {
    expect(copies?.text).toContain(SSH);
    expect(copies?.todo).toContain('"allowRemoteCopy": true');
  }
});
