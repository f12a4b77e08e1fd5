import { describe, expect, it } from "vitest";
import { findImageSource } from "../../src/images/find-image-source.ts";
import { createProject } from "./create-project.ts";
import { HOSTILE_DOCKERFILES } from "./hostile-projects.ts";

describe("a hostile Dockerfile", () => {
  it.each(HOSTILE_DOCKERFILES)("is refused by name: %j", (text, reason) => {
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
