import { describe, expect, it } from "vitest";
import type { EgressMode } from "@budgie/core";
import type { Policy } from "@budgie/core/policy";
import { chooseAnnotations } from "../../../src/mcp/tools/choose-annotations.ts";
import { POLICY } from "../../../../cli/test/helpers/create-agent.ts";

const toPolicy = (workspace: Policy["workspace"], mode: EgressMode): Policy => {
  return { ...POLICY, workspace, egress: { mode, hosts: [] } };
};

describe("chooseAnnotations", () => {
  it.each([
    ["rw", "none", { readOnlyHint: false, destructiveHint: true, openWorldHint: false }],
    ["rw", "allowlist", { readOnlyHint: false, destructiveHint: true, openWorldHint: true }],
    ["rw", "open", { readOnlyHint: false, destructiveHint: true, openWorldHint: true }],
    ["rw", "bridge", { readOnlyHint: false, destructiveHint: true, openWorldHint: true }],
    ["ro", "none", { readOnlyHint: true, destructiveHint: false, openWorldHint: false }],
    ["ro", "allowlist", { readOnlyHint: false, destructiveHint: false, openWorldHint: true }],
    ["ro", "open", { readOnlyHint: false, destructiveHint: false, openWorldHint: true }],
    ["ro", "bridge", { readOnlyHint: false, destructiveHint: false, openWorldHint: true }],
  ] as const)("gives an agent in a sandbox with workspace %s and egress %s the hints %j", (workspace, mode, hints) => {
    const policies = [toPolicy(workspace, mode)];

    expect(chooseAnnotations({ policies, sandbox: true })).toEqual({ ...hints, idempotentHint: false });
  });

  it.each([toPolicy("rw", "bridge"), toPolicy("ro", "none")])(
    "assumes the worst of an agent without a sandbox (case %#)",
    (policy) => {
      expect(chooseAnnotations({ policies: [policy], sandbox: false })).toEqual({
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      });
    },
  );

  it("gives a router the worst hints of its agents", () => {
    const policies = [toPolicy("ro", "none"), toPolicy("rw", "none"), toPolicy("ro", "allowlist")];

    expect(chooseAnnotations({ policies, sandbox: true })).toMatchObject({
      destructiveHint: true,
      openWorldHint: true,
    });
    expect(chooseAnnotations({ policies: policies.slice(0, 2), sandbox: true })).toMatchObject({
      openWorldHint: false,
    });
  });
});
