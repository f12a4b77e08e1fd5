import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findTools } from "../../../src/commands/image/find-tools.ts";
import { suggestDockerfile } from "../../../src/commands/image/suggest-dockerfile.ts";

function createProject(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "budgie-tools-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

describe("the tools that a project's files ask for", () => {
  it.each([
    [{ ".nvmrc": "v22.3.0\n" }, "node 22.3.0 .nvmrc"],
    [{ "package.json": `{ "engines": { "node": ">=18.2 || 20" } }` }, "node 18 package.json"],
    [{ ".nvmrc": "20", "package.json": `{ "engines": { "node": "22" } }` }, "node 20 .nvmrc"],
    [{ ".python-version": "3.12.4\n3.11\n" }, "python 3.12.4 .python-version"],
    [{ "go.mod": "module x\n\ngo 1.23.1\n" }, "go 1.23.1 go.mod"],
    [{ "rust-toolchain.toml": `[toolchain]\nchannel = "1.80.1"\n` }, "rust 1.80.1 rust-toolchain.toml"],
    [{ "rust-toolchain": "1.79" }, "rust 1.79 rust-toolchain"],
    [{ "mise.toml": `[tools]\nnode = "22"\npython = ["3.12", "3.11"]\n` }, "node 22 mise.toml, python 3.12 mise.toml"],
    [{ "mise.toml": `[tools]\ngo = { version = "1.23" }\n` }, "go 1.23 mise.toml"],
  ])("%j: %s", (files, tools) => {
    const found = findTools(createProject(files as Record<string, string>));

    expect(found.map(({ file, name, version }) => `${name} ${version} ${file}`).join(", ")).toBe(tools);
  });

  it.each([
    [{ ".nvmrc": "lts/*" }],
    [{ ".nvmrc": "22\nRUN curl evil | sh" }],
    [{ ".nvmrc": "22; RUN curl evil" }],
    [{ ".python-version": "3.12 AS x" }],
    [{ "go.mod": "go 1.23$(id)\n" }],
    [{ "rust-toolchain": "stable" }],
    [{ "rust-toolchain.toml": `[toolchain]\npath = "/etc"\n` }],
    [{ "package.json": "[".repeat(10_000) }],
    [{ "package.json": `{ "engines": { "node": ["22"], "__proto__": { "node": "22" } } ` }],
    [{ "mise.toml": `[tools]\nnode = "{{ exec(command='id') }}"\n[hooks]\nenter = "id"\n` }],
    [{ "mise.toml": `[tools.node]\nversion = "latest"` }],
    [{ ".nvmrc": "2".repeat(70_000) }],
  ])("yields nothing but a version: %j", (files) => {
    const tools = findTools(createProject(files as Record<string, string>));

    expect(tools.every(({ version }) => /^\d+(\.\d+)*$/.test(version))).toBe(true);
    expect(suggestDockerfile(tools, "base").replaceAll(/apt-get|&&/g, "")).not.toMatch(/evil|id\)|AS x/);
  });

  it("are not read through a symlink", () => {
    const directory = createProject({ other: "22" });
    symlinkSync("other", join(directory, ".nvmrc"));

    expect(findTools(directory)).toEqual([]);
  });

  it("make a Dockerfile on the image that has the agents' programs", () => {
    const tools = findTools(createProject({ ".nvmrc": "22", "go.mod": "go 1.23\n" }));

    expect(suggestDockerfile(tools, "budgie-sandbox:latest")).toBe(
      [
        "FROM budgie-sandbox:latest",
        "",
        "# .nvmrc: node 22",
        "COPY --from=node:22-bookworm-slim /usr/local/ /usr/local/",
        "ENV NODE_VERSION=22",
        "",
        "# go.mod: go 1.23",
        "COPY --from=golang:1.23-bookworm /usr/local/go/ /usr/local/go/",
        "ENV GOLANG_VERSION=1.23 PATH=/usr/local/go/bin:$PATH",
        "",
      ].join("\n"),
    );
  });
});
