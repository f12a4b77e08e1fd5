import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const budgie = join(root, "packages/cli/bin/budgie.js");
const tools = ["planner", "reviewer", "tester"].map((name) => `kiro-subagents.${name}`);
const token = "example-".repeat(5);

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "budgie-examples-"));
});
afterAll(() => rmSync(home, { recursive: true }));

function runNode(args: readonly string[]) {
  return run(process.execPath, args, { cwd: root, env: { ...process.env, HOME: home, BUDGIE_HTTP_TOKEN: token } });
}

describe("the examples", () => {
  it("are all listed on their page", () => {
    const page = readFileSync(join(root, "examples/README.md"), "utf8");
    const files = ["", "agents/", "config/"].flatMap((folder) =>
      readdirSync(join(root, "examples", folder)).map((name) => `${folder}${name}`),
    );
    const examples = files.filter((file) => /\.\w+$/.test(file) && file !== "README.md");

    expect(examples.filter((file) => !page.includes(`](${file})`))).toEqual([]);
    expect(examples.length).toBeGreaterThanOrEqual(10);
  });

  it("have agents that budgie understands", async () => {
    const { stdout } = await runNode([budgie, "agents", "check", "examples/agents"]);

    expect(stdout).toContain("3 files: 3 agents for budgie, 0 not for it, 0 prompts, 0 that cannot be used.");
  });

  it.each(readdirSync(join(root, "examples/config")))("have the configuration %s, which budgie reads", async (name) => {
    const { stdout } = await runNode([budgie, "config", "show", "--config", `examples/config/${name}`]);

    expect(stdout).toMatch(/^sandbox +true +/m);
  });

  it("would fail with a setting that budgie lacks", async () => {
    const file = join(home, "wrong.json");
    writeFileSync(file, '{ "sandboxx": true }');

    await expect(runNode([budgie, "config", "show", "--config", file])).rejects.toThrow("sandboxx");
  });

  it("list tools as a client that starts budgie", async () => {
    const { stdout } = await runNode(["examples/list-tools.mjs"]);

    expect(stdout.trim().split("\n")).toEqual(expect.arrayContaining(tools));
  });

  it("list tools as a client over HTTP", async () => {
    const args = [budgie, "--agents-dir", "examples/agents", "--transport", "http", "--port", "0"];
    const env = { ...process.env, HOME: home, BUDGIE_HTTP_TOKEN: token };
    const server = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] });
    try {
      const { stdout } = await runNode(["examples/http-client.mjs", await findUrl(server.stderr)]);

      expect(stdout.trim().split("\n")).toEqual(expect.arrayContaining(tools));
    } finally {
      server.kill();
    }
  });
});

async function findUrl(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    const url = /http:\/\/\S+\/mcp/.exec(line)?.[0];
    if (url !== undefined) {
      stderr.resume();
      return url;
    }
  }
  throw new Error("budgie ended before it served HTTP");
}
