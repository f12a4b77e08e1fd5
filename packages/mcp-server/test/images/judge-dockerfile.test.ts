import { describe, expect, it } from "vitest";
import { findImageSource } from "../../src/images/find-image-source.ts";
import { createProject } from "./create-project.ts";

describe("a hostile Dockerfile", () => {
  it.each([
    ["# syntax=docker/dockerfile:1\nFROM a", "# syntax="],
    ["#syntax = evil/frontend\nFROM a", "# syntax="],
    ["\uFEFF# SYNTAX=evil\nFROM a", "# syntax="],
    ["// syntax=evil\nFROM a", "# syntax="],
    ["# escape=`\nFROM a", "# escape="],
    ["FROM a\nRUN --mount=type=secret,id=npm cat /run/secrets/npm", "RUN --mount=type=secret"],
    ["FROM a\nRUN --mount=type=ssh git clone x", "RUN --mount=type=ssh"],
    ["FROM a\nRUN --mount=type=bind,source=/,target=/h ls", "RUN --mount=type=bind"],
    ["FROM a\nrun \\\n  --mount=type=cache,target=/c true", "RUN --mount=type=cache"],
    ["FROM a\nRUN \\\n# note\n\n --network=host curl 127.0.0.1", "RUN --network=host"],
    ["FROM a\nRUN --security=insecure mount", "RUN --security=insecure"],
    ["FROM a\nRUN --device=/dev/kvm true", "RUN --device"],
    ["FROM a\nONBUILD RUN --network=host true", "RUN --network=host"],
    ["FROM a\nRUN <<EOF\nFROM b\nEOF", "here-document"],
    ["FROM a\nCOPY <<EOF /etc/x\nEOF", "here-document"],
    ["FROM a\nADD http://169.254.169.254/latest /x", `"ADD" of an address`],
    ["FROM a\nADD git@example.com:x/y.git /x", `"ADD" of an address`],
    ["FROM a\nARG U=http://127.0.0.1\nADD $U /x", `"ADD" of an address`],
    ["FROM a\nCOPY ../../.ssh /x", `names ".."`],
    [`FROM a\nCOPY ["../x", "/x"]`, `names ".."`],
    ["FROM a\nCOPY --parents x /x", "COPY --parents"],
    ["FROM a\nARG BUILDKIT_SYNTAX=evil", "BUILDKIT_"],
    ["FROM a\nINCLUDE other", "unknown instruction"],
    ["FROM a\nRUN true\rRUN --mount=type=ssh true", "invisible characters"],
    ["FROM a\nRUN echo \u001b[2J", "invisible characters"],
    ["FROM a\nRUN echo \u202e", "invisible characters"],
  ])("is refused by name: %j", (text, reason) => {
    const { directory, write } = createProject();
    write(".budgie/Dockerfile", text);

    expect(findImageSource(directory)?.refused.join()).toContain(reason);
  });

  it("is not what this refuses: usual ones pass", () => {
    const { directory, write } = createProject();
    write(
      ".budgie/Dockerfile",
      "# A comment\r\nARG V=22\r\nFROM --platform=linux/amd64 node:$V AS base\r\nRUN apt-get update \\\n  && apt-get install -y --no-install-recommends git\n" +
        `COPY --from=golang:1.23 --chown=0:0 /usr/local/go /usr/local/go\nADD a.tar /x\nENV A=b\nCMD ["sh"]\nHEALTHCHECK NONE\n`,
    );

    expect(findImageSource(directory)?.refused).toEqual([]);
  });
});
