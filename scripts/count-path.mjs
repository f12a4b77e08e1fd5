#!/usr/bin/env node
// Counts what a reader of a turn's path meets, for docs/adr/0030: run after `npm run build`. Prints JSON.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

// A step is a function without a name, in one of these files.
const STEP =
  /^(?:core turn\/(?:(?:steps|reports)\/[^:]*|run\/walk-steps\.ts)|mcp-server (?:live|agent-servers|server)\/[^:]*):  at /;

const PATH_PACKAGES = ["core", "protocols", "sandbox", "runner-docker", "mcp-server", "cli"];

const files = listSources().map((file) => {
  const text = readFileSync(file, "utf8");
  return { file, package: file.split("/")[1], lines: text.split("\n").length - 1, nodes: listNodes(file, text) };
});
const nodesOnPath = files.filter((file) => PATH_PACKAGES.includes(file.package)).flatMap((file) => file.nodes);
const nodes = files.flatMap((file) => file.nodes);

const typeNames = nodes.flatMap((node) =>
  /^(?:TSTypeAlias|TSInterface|Class)Declaration$/.test(node.type) ? [node.id?.name ?? ""] : [],
);
const functionNames = nodes.flatMap(toFunctionName);
const help = execFileSync("node", ["packages/cli/dist/main.js", "serve", "--help"], {
  encoding: "utf8",
  env: { ...process.env, COLUMNS: "100" },
});

console.log(
  JSON.stringify(
    {
      ...countFrames(),
      recordsWithDirectory: nodesOnPath.filter(hasDirectory).length,
      callbacks: new Set(nodesOnPath.flatMap(toCallbackName)).size,
      typesNamedTurn: typeNames.filter((name) => name.includes("Turn")).length,
      typesNamedSession: typeNames.filter((name) => name.includes("Session")).length,
      toFunctions: `${functionNames.filter((name) => /^to[A-Z]/.test(name)).length} of ${functionNames.length}`,
      wrappers: functionNames.filter((name) => /^with[A-Z]/.test(name)).length,
      options: help.match(/^ {2,6}(?:-\w, )?--\w/gm)?.length,
      helpLines: help.trimEnd().split("\n").length,
      packages: Object.fromEntries([...new Set(files.map((file) => file.package))].map(toSize)),
    },
    undefined,
    2,
  ),
);

function listSources() {
  const packages = readdirSync("packages").filter((name) => name !== "testkit");
  return packages.flatMap((name) =>
    readdirSync(`packages/${name}/src`, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => `packages/${name}/src/${file}`),
  );
}

/** Counts the asynchronous functions between the MCP handler and the start of a container, as `one-call.process.test.ts` traces them. */
function countFrames() {
  const report = join(mkdtempSync(join(tmpdir(), "budgie-frames-")), "frames.json");
  execFileSync("node_modules/.bin/vitest", ["run", "--project", "process", "one-call"], {
    stdio: ["ignore", 2, 2],
    env: { ...process.env, BUDGIE_TEST_FRAMES_FILE: report },
  });
  const { frames } = JSON.parse(readFileSync(report, "utf8"));
  return { frames: frames.length, framesNotSteps: frames.filter((frame) => !STEP.test(frame)).length };
}

function listNodes(file, text) {
  const found = [];
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (node === null || typeof node !== "object") return;
    if (typeof node.type === "string") found.push(node);
    for (const [key, child] of Object.entries(node)) if (key !== "parent") visit(child);
  };
  visit(parseSync(file, text).program);
  return found;
}

/** Tells whether an object type declares a member `directory`, or picks one. */
function hasDirectory(node) {
  const members = node.type === "TSTypeLiteral" ? node.members : node.type === "TSInterfaceBody" ? node.body : [];
  return members.some((member) => member.key?.name === "directory" && member.type === "TSPropertySignature");
}

function toCallbackName(node) {
  const isMember = node.type === "TSPropertySignature" || node.type === "TSMethodSignature";
  return isMember && /^on[A-Z]/.test(node.key?.name ?? "") ? [node.key.name] : [];
}

function toFunctionName(node) {
  if (node.type === "FunctionDeclaration") return [node.id?.name ?? ""];
  const isConstant = node.type === "VariableDeclarator" && node.init?.type === "ArrowFunctionExpression";
  return isConstant ? [node.id.name ?? ""] : [];
}

function toSize(name) {
  const of = files.filter((file) => file.package === name);
  return [name, { files: of.length, lines: of.reduce((sum, { lines }) => sum + lines, 0) }];
}
