import { expect, it } from "vitest";
import type { SandboxFacts } from "@budgie/runner-docker";
import { listSandboxFindings } from "../../../src/commands/doctor/list-sandbox-findings.ts";
import { parseConfig } from "../../../src/config/config.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

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
