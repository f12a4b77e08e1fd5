// The versions of MCP clients and agents that budgie is tested with, as files pin them and pages tell them.
import { readFileSync } from "node:fs";

const root = new URL("../..", import.meta.url);

/** Returns the pinned versions, each with the words before it on the page that names it. */
export function readVersions() {
  const interop = JSON.parse(read("interop/package.json")).dependencies;
  const programs = JSON.parse(read("docker/programs/package.json"));
  const sdks = Object.keys(interop).filter((name) => name.startsWith("sdk-"));
  return [
    toVersion("`@modelcontextprotocol/sdk`:", sdks.map((name) => ofAlias(interop[name])).join(", ")),
    toVersion("`@modelcontextprotocol/client`:", interop["@modelcontextprotocol/client"]),
    toVersion("`mcp`", find("interop/python/requirements.txt", /^mcp==(.+)$/m)),
    toVersion("`github.com/modelcontextprotocol/go-sdk`", find("interop/go/go.mod", /go-sdk v(\S+)/)),
    toVersion("`rmcp`", find("interop/rust/Cargo.lock", /^name = "rmcp"\nversion = "(.+)"$/m)),
    toVersion(
      "`io.modelcontextprotocol.sdk:mcp`",
      find("interop/java/pom.xml", /<artifactId>mcp<.+\n\s+<version>(.+)</),
    ),
    toVersion("`@modelcontextprotocol/inspector --cli`:", interop["@modelcontextprotocol/inspector"]),
    toVersion("`@modelcontextprotocol/conformance`", interop["@modelcontextprotocol/conformance"]),
    toVersion(", and", ofAlias(interop["conformance-next"])),
    toVersion("Gemini CLI", interop["@google/gemini-cli"]),
    toVersion("Codex", interop["@openai/codex"]),
    ...["@zed-industries/codex-acp", "@github/copilot", "@google/gemini-cli", "@qwen-code/qwen-code"].map((name) =>
      toVersion(`\`${name}\``, programs.dependencies[name], "docs/agents.md"),
    ),
    toVersion("`opencode-ai`", programs.optionalDependencies["opencode-linux-x64-baseline"], "docs/agents.md"),
  ];
}

/** Returns the part of a page that says what budgie is tested with. */
export function readPart(page) {
  const [, part] = PARTS[page].exec(read(page)) ?? [];
  if (part === undefined) throw new Error(`${page} no longer says what budgie is tested with.`);
  return part;
}

const PARTS = { "docs/clients.md": /^## Tested clients\n([^]+)/m, "docs/agents.md": /^(Tested in budgie: .+)$/m };

/** Returns the text with the version that it should have behind the words, or `undefined` if they are not there. */
export function replaceVersion(text, { words, version }, old = version) {
  const told = new RegExp(`(${toPattern(words)}\\s+)${toPattern(old)}(?![\\d.]*\\d)`, "g");
  return told.test(text) ? text.replace(told, `$1${version}`) : undefined;
}

function toPattern(words) {
  return words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "\\s+");
}

function toVersion(words, version, page = "docs/clients.md") {
  return { words, version, page };
}

function find(path, pattern) {
  const [, version] = pattern.exec(read(path)) ?? [];
  if (version === undefined) throw new Error(`${path} has no version at ${pattern}.`);
  return version;
}

function ofAlias(alias) {
  return alias.slice(alias.lastIndexOf("@") + 1);
}

function read(path) {
  return readFileSync(new URL(path, root), "utf8");
}
