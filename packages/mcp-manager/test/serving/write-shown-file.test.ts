import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { namesServers, needsCopy, writeShownFile } from "../../src/serving/write-shown-file.ts";

const PLAIN = { name: "a", description: "sub-agent: A", prompt: "file://./a.md", tools: ["*"], model: null };

describe("needsCopy", () => {
  it.each<readonly [string, string, unknown]>([
    ["Markdown", "a.md", "---\nname: a\n---\nHello"],
    ["JSON in a folder", "team/a.json", { ...PLAIN, name: "team/a" }],
    ["JSON without a name", "a.json", { description: "x" }],
    ["JSON with tools as text", "a.json", { ...PLAIN, tools: "read, write" }],
    ["JSON with Claude Code's tools", "a.json", { ...PLAIN, tools: ["Read"] }],
    ["JSON with rules", "a.json", { ...PLAIN, permissions: { rules: [] } }],
    ["JSON with a list of hooks", "a.json", { ...PLAIN, hooks: [{ trigger: "stop", command: "x" }] }],
  ])("is true for %s", (_what, path, content) => {
    expect(needsCopy(place(path, content))).toBe(true);
  });

  it("is false for V2's own JSON, and for a file that cannot be used", () => {
    expect(needsCopy(place("a.json", PLAIN))).toBe(false);
    expect(needsCopy(place("a.json", "{"))).toBe(false);
    expect(needsCopy({ name: "a", file: "/nowhere/a.md" })).toBe(false);
  });
});

describe("namesServers", () => {
  it.each([
    ["a.md", "---\nmcpServers: { git: { command: git-mcp } }\n---\n", true],
    ["a.md", "---\nincludeMcpJson: true\n---\n", true],
    ["a.md", "---\nmcpServers: {}\n---\n", false],
    ["a.json", { name: "a", useLegacyMcpJson: true }, true],
    ["a.json", "{", false],
  ])("reads %s %j: %s", (path, content, expected) => {
    expect(namesServers(place(path, content))).toBe(expected);
  });
});

describe("writeShownFile", () => {
  it("writes V2's JSON into a folder of its own, with the agent's name", () => {
    const agent = place("team/a.md", "---\nname: other\ntools: Read, Bash\ncolor: blue\n---\nHello");

    const shown = write(agent);

    expect(basename(shown)).toBe("a.json");
    expect(readJson(shown)).toEqual({ name: "team/a", tools: ["read", "shell"], prompt: "Hello" });
    expect(write(agent)).toBe(shown);
    writeFileSync(agent.file, "---\ntools: Read\n---\nHello");
    expect(dirname(write(agent))).not.toBe(dirname(shown));
  });

  it("finds a prompt beside the file from the copy", () => {
    const agent = place("team/a.json", { ...PLAIN, prompt: "file://../a.md" });

    expect(readJson(write(agent))["prompt"]).toBe(`file://${join(dirname(agent.file), "..", "a.md")}`);
  });

  it("keeps the file's servers, or puts others in their place", () => {
    const agent = place(
      "a.md",
      "---\ntools: ['@mcp']\nincludeMcpJson: true\nmcpServers: { git: { command: x } }\n---\n",
    );
    const servers = new Map([["docs", { url: "http://x", timeoutMs: 5 }]]);

    expect(readJson(write(agent))).toMatchObject({
      includeMcpJson: true,
      mcpServers: { git: { command: "x" } },
      tools: ["@mcp", "@git"],
    });
    expect(readJson(writeShownFile(agent, { folder, servers }))).toEqual({
      name: "a",
      mcpServers: { docs: { type: "http", url: "http://x", timeout: 5 } },
      tools: ["@mcp", "@docs"],
    });
  });
});

const folder = mkdtempSync(join(tmpdir(), "budgie-copies-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes an agent file, and returns its agent, which is named by its path. */
function place(path: string, content: unknown) {
  const file = join(mkdtempSync(join(folder, "agents-")), path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return { file, name: path.replace(/\.\w+$/, "") };
}

function write(agent: ReturnType<typeof place>): string {
  return writeShownFile(agent, { folder });
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
}
