import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { parseLabels, toLabels } from "../src/labels.ts";

const owner = { instance: "an-instance", host: "a-host", lock: "/state/owners/lock" };

it("reads back what it wrote", () => {
  const session = createSessionId();

  const facts = parseLabels(toLabels(owner, session, "turn"));

  expect(facts).toMatchObject({ owner, session, role: "turn" });
  expect(Math.abs(facts.created.getTime() - Date.now())).toBeLessThan(5000);
});

it("marks everything as budgie's own", () => {
  expect(toLabels(owner, createSessionId(), "home")).toMatchObject({ "dev.budgie": "1", "dev.budgie.schema": "1" });
});

it.each([undefined, {}, { "dev.budgie.created": "yesterday" }])("reads %j as nobody's and old", (labels) => {
  expect(parseLabels(labels)).toEqual({
    owner: { instance: "", host: "", lock: "" },
    session: "",
    role: "",
    created: new Date(0),
  });
});
