import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { omitCreated, parseLabels, toLabels } from "../../src/engine/to-labels.ts";

const process = { pidNamespace: "4026531836", pid: 4711, started: "815", boot: "a-boot" };
const owner = { process, instance: "an-instance", host: "a-host", lock: "/state/owners/lock" };

it("reads back what it wrote", () => {
  const session = createSessionId();
  const before = Date.now();

  const facts = parseLabels(toLabels(owner, session, "turn"));

  expect(facts).toMatchObject({ owner, session, role: "turn" });
  expect(facts.created.getTime()).toBeGreaterThanOrEqual(before);
  expect(facts.created.getTime()).toBeLessThanOrEqual(Date.now());
});

it("parses no process if a part is missing", () => {
  const labels = toLabels(owner, "", "proxy");
  for (const name of ["pid-namespace", "pid", "started", "boot"]) {
    expect(parseLabels({ ...labels, [`dev.budgie.${name}`]: "" }).owner).toEqual({ ...owner, process: undefined });
  }
  expect(parseLabels({ ...labels, "dev.budgie.pid": "-1" }).owner).toEqual({ ...owner, process: undefined });
});

it("has no labels for a process that its owner does not know", () => {
  const labels = toLabels({ ...owner, process: undefined }, "", "proxy");

  expect(Object.keys(labels).filter((name) => /pid|started|boot/.test(name))).toEqual([]);
});

it.each([
  ["3600000", 3_600_000],
  ["soon", 0],
  ["-1", 0],
  [undefined, 0],
])("parses %j as a keep time", (text, keepMs) => {
  const labels = toLabels(owner, "", "home");

  expect(parseLabels(text === undefined ? labels : { ...labels, "dev.budgie.keep-ms": text }).keepMs).toBe(keepMs);
});

it("leaves out the time, and nothing else", () => {
  const { "dev.budgie.created": _, ...others } = toLabels(owner, "", "turn");

  expect(omitCreated({ ...others, "dev.budgie.created": "now" })).toEqual(others);
});

it("marks everything as budgie's", () => {
  expect(toLabels(owner, createSessionId(), "home")).toMatchObject({ "dev.budgie": "1", "dev.budgie.schema": "1" });
});

it.each([undefined, {}, { "dev.budgie.created": "yesterday" }])("parses %j as old and without an owner", (labels) => {
  expect(parseLabels(labels)).toEqual({
    owner: { instance: "", host: "", lock: "" },
    session: "",
    role: "",
    created: new Date(0),
    keepMs: 0,
    isAhead: false,
    isMadeForMount: false,
  });
});
