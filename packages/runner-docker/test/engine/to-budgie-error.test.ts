import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { ignoreMissing, imageNotFound, statusOf, toBudgieError } from "../../src/engine/to-budgie-error.ts";

const refusal = (statusCode: number, message: string): Error =>
  Object.assign(new Error(`(HTTP code ${statusCode}) unexpected - ${message}`), { statusCode, json: { message } });
const lost = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const named = (name: string): Error => Object.assign(new Error("aborted"), { name });

describe("toBudgieError", () => {
  it.each([
    ["a missing image", refusal(404, "No such image: budgie:latest"), "IMAGE_NOT_FOUND", /"the-image".*build-image/],
    [
      "a directory that went away",
      refusal(400, 'invalid mount config for type "bind": bind source path does not exist: /w'),
      "WORKSPACE_INVALID",
      /\/w/,
    ],
    ["Podman's words for that", refusal(500, "statfs /w: no such file or directory"), "WORKSPACE_INVALID", /\/w/],
    [
      "Podman 4.3 without catatonit",
      refusal(
        500,
        "container create: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory",
      ),
      "RUNNER_UNAVAILABLE",
      /Install it where the engine runs: .* "catatonit"/,
    ],
    [
      "Podman 5 without it",
      refusal(500, 'container create: lookup init binary: exec: "catatonit": executable file not found in $PATH'),
      "RUNNER_UNAVAILABLE",
      /Install it where the engine runs: .* "catatonit"/,
    ],
    ["any other refusal", refusal(500, "the disk is full"), "RUNNER_UNAVAILABLE", /HTTP 500.*the disk is full.*doctor/],
    ["a dead engine", lost("ECONNREFUSED"), "RUNNER_UNAVAILABLE", /ECONNREFUSED/],
    ["a closed connection", lost("EPIPE"), "RUNNER_UNAVAILABLE", /Start it again/],
    ["a call that took too long", named("TimeoutError"), "RUNNER_UNAVAILABLE", /did not answer in time/],
    ["a full disk", lost("ENOSPC"), "RUNNER_UNAVAILABLE", /ENOSPC.*Make room.*the option "stateDir"/],
    ["a database without room", lost("SQLITE_FULL"), "RUNNER_UNAVAILABLE", /SQLITE_FULL/],
    ["a call that was given up", named("AbortError"), "RUNNER_UNAVAILABLE", /did not answer in time/],
  ])("translates %s, and keeps it as the cause", (...[, error, code, message]) => {
    expect(toBudgieError(error, "the-image")).toMatchObject({
      name: "BudgieError",
      code,
      message: expect.stringMatching(message),
      cause: error,
    });
  });

  it.each([
    ["an error of budgie's own", new BudgieError("CANCELLED", "x")],
    ["a bug", new TypeError("x is not a function")],
    ["another error of the file system", lost("EISDIR")],
    ["what is no error", "text"],
  ])("passes %s unchanged", (_, error) => {
    expect(toBudgieError(error, "the-image")).toBe(error);
  });
});

it("names the missing image and both remedies", () => {
  expect(imageNotFound("a/b:c")).toMatchObject({
    code: "IMAGE_NOT_FOUND",
    message: expect.stringMatching(/"a\/b:c".*"budgie build-image".*the option "image"/),
  });
});

it("ignores only what is missing", () => {
  expect(() => ignoreMissing(refusal(404, "no such container"))).not.toThrow();
  const ofPodman = "no volume with name budgie-session-1 found in database: no such volume";
  expect(() => ignoreMissing(refusal(500, ofPodman))).not.toThrow();
  expect(() => ignoreMissing(refusal(500, "no space left"))).toThrow("no space left");
  expect(() => ignoreMissing(refusal(409, "in use"))).toThrow("in use");
  expect(() => ignoreMissing(lost("ECONNRESET"))).toThrow("ECONNRESET");
});

it("returns the status of error responses only", () => {
  expect(statusOf(refusal(409, "in use"))).toBe(409);
  expect(statusOf(lost("ENOENT"))).toBeUndefined();
});
