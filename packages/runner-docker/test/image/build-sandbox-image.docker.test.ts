import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildSandboxImage } from "@budgie/runner-docker";
import { BASE_IMAGE, testEngine } from "../helpers/docker-place.ts";

const tag = `budgie-test-build-${process.pid}`;
let contextDir: string;
let lines: string[];
beforeEach(() => {
  contextDir = mkdtempSync(join(tmpdir(), "budgie-build-"));
  mkdirSync(join(contextDir, "docker"));
  writeFileSync(join(contextDir, "docker/entrypoint.sh"), "#!/bin/sh\n");
  writeFileSync(join(contextDir, "secret"), "must not be sent");
  lines = [];
});
afterEach(async () => {
  rmSync(contextDir, { recursive: true });
  await (
    await testEngine()
  )
    .getImage(tag)
    .remove()
    .catch(() => undefined);
});

function build(dockerfile: string) {
  writeFileSync(join(contextDir, "Dockerfile.sandbox"), dockerfile);
  return buildSandboxImage({
    tag,
    contextDir,
    dockerfile: "Dockerfile.sandbox",
    buildArgs: { GREETING: "hello" },
    home: process.env["HOME"] ?? "/root",
    hostEnv: process.env,
    onProgress: (line) => lines.push(line),
  });
}

describe("buildSandboxImage", () => {
  it("builds from the Dockerfile and docker/ only, with build arguments, and reports each line", async () => {
    const built = await build(
      `FROM ${BASE_IMAGE}\nARG GREETING\nCOPY . /context\nRUN printf "%s\\nagain\\n" "$GREETING" && ls /context && test ! -e /context/secret`,
    );

    expect(built).toEqual({ imageId: (await (await testEngine()).getImage(tag).inspect()).Id });
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^Step 1\/4/), "hello", "again"]));
  });

  it.each([
    ["a step that fails", `FROM ${BASE_IMAGE}\nRUN exit 3`, /non-zero code: 3/],
    ["a Dockerfile that is none", "NONSENSE", /unknown instruction/i],
  ])("fails with the build's last error on %s", async (_, dockerfile, reason) => {
    expect(await build(dockerfile)).toEqual({ failure: expect.stringMatching(reason) });
  });

  it("needs an engine", async () => {
    const options = { tag, contextDir, dockerfile: "Dockerfile", buildArgs: {}, home: contextDir };
    const onProgress = (): void => undefined;

    await expect(
      buildSandboxImage({ ...options, onProgress, hostEnv: { DOCKER_HOST: "unix:///nonexistent" } }),
    ).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
    });
  });
});
