import { describe, expect, it } from "vitest";
import { findBuildHint, formatBuildFailure } from "../../src/commands/find-build-hint.ts";

const STEP = "The command '/bin/sh -c apt-get update' returned a non-zero code: 100";
const PULL = "Get https://registry.test/v2/: dial tcp: lookup registry.test on 127.0.0.53:53: no such host";
const UNTRUSTED = "Get https://registry.test/v2/: x509: certificate signed by unknown authority";

describe("the hint after a build that failed", () => {
  it.each([
    ["the engine finds no registry", PULL, [], /^The engine could not fetch the base image: .* BASE_IMAGE=IMAGE\.$/],
    ["the engine does not trust the registry", UNTRUSTED, [], /^The engine does not trust .* BASE_IMAGE=IMAGE\.$/],
    ["a step resolves no name", STEP, ["Temporary failure resolving 'deb.test'"], /--network host, .* HTTPS_PROXY=URL/],
    ["a step finds no package", STEP, ["E: Unable to locate package git"], /--network host/],
    [
      "curl does not trust a server",
      STEP,
      ["curl: (60) SSL certificate problem: self-signed certificate"],
      /--ca-file FILE\.$/,
    ],
    ["npm does not trust a server", STEP, ["npm error code SELF_SIGNED_CERT_IN_CHAIN"], /--ca-file FILE\.$/],
    [
      "apt does not trust a server",
      STEP,
      ["Certificate verification failed: The certificate is NOT trusted."],
      /--ca-file FILE\.$/,
    ],
  ])("names what to try if %s", (...[, failure, output, hint]) => {
    expect(findBuildHint({ failure, output, hasCaFile: false })).toMatch(hint);
  });

  it("follows the cause as a sentence of its own, and leaves a cause without a hint as it is", () => {
    const build = { failure: PULL, output: [], hasCaFile: false };

    expect(formatBuildFailure("no such host", build)).toMatch(/^no such host\. The engine could not/);
    expect(formatBuildFailure("ended with code: 6.", build)).toMatch(/^ended with code: 6\. The engine could not/);
    expect(formatBuildFailure("wrong", { ...build, failure: "wrong" })).toBe("wrong");
  });

  it("asks for another file of certificates if the steps trusted one", () => {
    const output = ["npm error code SELF_SIGNED_CERT_IN_CHAIN"];

    expect(findBuildHint({ failure: STEP, output, hasCaFile: true })).toMatch(
      /not in the file of --ca-file, nor public/,
    );
  });

  it.each([
    ["a step fails for another reason", STEP, ["dpkg: error processing package"]],
    ["the Dockerfile is wrong", "unknown instruction: NONSENSE", []],
  ])("is missing if %s", (_, failure, output) => {
    expect(findBuildHint({ failure, output, hasCaFile: false })).toBe("");
  });
});
