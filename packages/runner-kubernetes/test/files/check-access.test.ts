import { expect, it } from "vitest";
import { checkAccess } from "../../src/files/check-access.ts";

it.each(["copy", "ro-copy"] as const)("a Pod gives the access %s", (workspace) => {
  expect(() => checkAccess({ workspace })).not.toThrow();
});

it.each([undefined, { workspace: "rw" }, { workspace: "ro" }] as const)("a Pod shows no directory: %o", (access) => {
  expect(() => checkAccess(access)).toThrow(
    expect.objectContaining({ code: "INPUT_INVALID", message: expect.stringContaining('make it "copy"') }),
  );
});
