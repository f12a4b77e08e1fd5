import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const FILES = [
  "scripts/raise-versions.mjs",
  "scripts/lib/tested-versions.mjs",
  "docs/agents.md",
  "docs/clients.md",
  "docker/programs/package.json",
  "docker/programs/servers/package.json",
  "docker/programs/servers/package-lock.json",
  "interop/package.json",
  "interop/package-lock.json",
  "interop/go/go.mod",
  "interop/java/pom.xml",
  "interop/python/requirements.txt",
  "interop/rust/Cargo.lock",
  "packages/cli/src/agents/agent-presets.ts",
];

// Programs in place of the package managers. All say that the newest version is 9999.0.0, but for three packages of npm.
const PROGRAMS = {
  npm: `case "$*" in
    "view @github/copilot version"*) echo '{ "version": "9999.0.0", "engines.node": ">=9999.1" }' ;;
    "view @qwen-code/qwen-code version"*) echo '"0.0.1"' ;;
    "view @modelcontextprotocol/sdk@~1.12.3 version"*) echo '["1.12.4", { "version": "1.12.10", "engines.node": ">=18" }]' ;;
    view*) echo '{ "version": "9999.0.0", "engines.node": ">=18" }' ;;
  esac`,
  python3: `mkdir -p "$3/bin" && printf '#!/bin/sh\\ncase "$*" in *freeze) echo mcp==9999.0.0 ;; esac\\n' >"$3/bin/pip" && chmod +x "$3/bin/pip"`,
  go: `case "$1" in get) sed -i 's/go-sdk v.*/go-sdk v9999.0.0/' go.mod ;; esac`,
  cargo: `sed -i '/^name = "rmcp"$/{n;s/".*"/"9999.0.0"/}' Cargo.lock`,
  mvn: `sed -i '/<artifactId>mcp</{n;s/>.*</>9999.0.0</}' pom.xml`,
};

let root: string;
let printed: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-raise-versions-")));
  for (const file of FILES) cpSync(join(ROOT, file), join(root, file));
  const bin = join(root, "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(PROGRAMS)) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nprintf '%s\\n' "\${PWD#${root}} ${name} $*" >>"${root}/calls"\n${script}\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, HOME: root, TMPDIR: root };
  execFileSync("git", ["init", "--quiet"], { cwd: root, env });
  execFileSync("git", ["add", "interop", "docker"], { cwd: root, env });
  // From elsewhere, since a checkout need not be the working directory.
  const script = join(root, "scripts/raise-versions.mjs");
  printed = execFileSync(process.execPath, [script], { cwd: tmpdir(), env, encoding: "utf8" });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Manifest = Readonly<Record<"dependencies" | "optionalDependencies", Readonly<Record<string, string>>>>;

const read = (path: string, folder = root): string => readFileSync(join(folder, path), "utf8");
const readManifest = (path: string, folder = root): Manifest => JSON.parse(read(path, folder)) as Manifest;

it("The versions that npm has newer are raised, and an alias within its line", () => {
  const interop = readManifest("interop/package.json").dependencies;
  expect(interop).toMatchObject({ "@openai/codex": "9999.0.0", undici: "9999.0.0" });
  expect(interop["sdk-1.12"]).toBe("npm:@modelcontextprotocol/sdk@1.12.10");
  expect(readManifest("docker/programs/package.json").optionalDependencies).toEqual({
    "opencode-linux-arm64": "9999.0.0",
    "opencode-linux-x64-baseline": "9999.0.0",
  });
  expect(Object.values(readManifest("docker/programs/servers/package.json").dependencies)).toEqual(
    Array(3).fill("9999.0.0"),
  );
});

it("A version that this Node cannot run, an older one, and one that is held stay as they are", () => {
  const [now, before] = [root, ROOT].map((folder) => ({
    ...readManifest("docker/programs/package.json", folder).dependencies,
    ...readManifest("interop/package.json", folder).dependencies,
  }));
  for (const name of ["@github/copilot", "@qwen-code/qwen-code", "@modelcontextprotocol/inspector", "conformance-next"])
    expect([name, now?.[name]]).toEqual([name, before?.[name]]);
  expect(printed).toMatch(/^ {2}held @github\/copilot [\d.]+: 9999\.0\.0 needs Node >=9999\.1$/m);
  expect(printed).toMatch(/^ {2}held conformance-next npm:.+: no tag names the newest of its line$/m);
});

it("Lock files are written only where there are some, without running a package's scripts", () => {
  const calls = read("calls").split("\n");
  const installs = calls.filter((call) => call.includes("npm install"));

  expect(installs.map((call) => call.split(" ")[0])).toEqual(["/interop", "/docker/programs/servers"]);
  for (const install of installs) expect(install).toMatch(/--package-lock-only --ignore-scripts/);
  expect(calls).toContain("/interop/go go mod tidy");
});

it("The pages and presets tell the new versions, and keep those that stayed or were tried by hand", () => {
  const [clients, agents, presets] = [
    read("docs/clients.md"),
    read("docs/agents.md"),
    read("packages/cli/src/agents/agent-presets.ts"),
  ];
  for (const words of ["`mcp`", "go-sdk`", "`rmcp`", "sdk:mcp`", "Gemini CLI", "Codex", "client`:"])
    expect(clients).toContain(`${words} 9999.0.0`);
  expect(clients).toContain("`@modelcontextprotocol/sdk`: 1.12.10, ");
  expect(agents).toMatch(/^Tested in budgie: `@zed-industries\/codex-acp` 9999\.0\.0, .*`opencode-ai` 9999\.0\.0\./m);
  expect(presets).toContain('npm: "@zed-industries/codex-acp@9999.0.0"');
  const hand = /Claude Code [\d.]+ a model|MCP Inspector [\d.]+\n/g;
  const copilot = /`@github\/copilot` [\d.]+,/;
  expect([clients.match(hand), agents.match(copilot)?.[0]]).toEqual([
    read("docs/clients.md", ROOT).match(hand),
    read("docs/agents.md", ROOT).match(copilot)?.[0],
  ]);
  expect(printed).toMatch(/^ {2}ok {3}Codex [\d.]+ -> 9999\.0\.0$/m);
});
