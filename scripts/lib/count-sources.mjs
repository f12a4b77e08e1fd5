import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

/** The packages through which a turn goes, and the rooms of one that has others too. */
const ON_PATH = [
  "core",
  "protocols",
  "sandbox",
  "runner-docker",
  ...["agents", "connections", "serving"].map((room) => `mcp-manager/src/${room}`),
  "mcp-server",
  "cli",
];

/** Lists what ADR 30 counts in the sources of a checkout. A record, callback, type or function is listed by its name. */
export function countSources(root) {
  const files = listSources(root).map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return { file, package: file.split("/")[1], lines: text.split("\n").length - 1, nodes: listNodes(file, text) };
  });
  const nodesOnPath = files.filter(isOnPath).flatMap(({ nodes: own }) => own);
  const nodes = files.flatMap((file) => file.nodes);
  const typeNames = nodes.flatMap(toTypeName);
  const functionNames = nodes.flatMap(toFunctionName);
  const toSize = (name) => {
    const of = files.filter((file) => file.package === name);
    return [name, { files: of.length, lines: of.reduce((sum, { lines }) => sum + lines, 0) }];
  };
  return {
    recordsWithDirectory: nodesOnPath.flatMap(toRecordWithDirectory),
    callbacks: [...new Set(nodesOnPath.flatMap(toCallbackName))],
    typesNamedTurn: typeNames.filter((name) => name.includes("Turn")),
    typesNamedSession: typeNames.filter((name) => name.includes("Session")),
    functions: functionNames,
    packages: Object.fromEntries([...new Set(files.map((file) => file.package))].map(toSize)),
  };
}

function isOnPath({ file }) {
  return ON_PATH.some((place) => file.startsWith(`packages/${place}/`));
}

function listSources(root) {
  const packages = readdirSync(join(root, "packages")).filter((name) => name !== "testkit");
  return packages.flatMap((name) =>
    readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => `packages/${name}/src/${file}`),
  );
}

/** Lists the nodes of a file, each with the name of the declaration around it. */
function listNodes(file, text) {
  const found = [];
  const visit = (node, around) => {
    if (Array.isArray(node)) return node.forEach((child) => visit(child, around));
    if (node === null || typeof node !== "object") return;
    if (typeof node.type === "string") found.push({ node, around });
    const name = node.id?.name ?? around;
    for (const [key, child] of Object.entries(node)) if (key !== "parent") visit(child, name);
  };
  visit(parseSync(file, text).program, file);
  return found;
}

/** Returns the name of an object type that declares a member `directory`. A type that picks it from another declares none. */
function toRecordWithDirectory({ around, node }) {
  const members = node.type === "TSTypeLiteral" ? node.members : node.type === "TSInterfaceBody" ? node.body : [];
  const declares = members.some((member) => member.key?.name === "directory" && member.type === "TSPropertySignature");
  return declares ? [around] : [];
}

function toCallbackName({ node }) {
  const isMember = node.type === "TSPropertySignature" || node.type === "TSMethodSignature";
  return isMember && /^on[A-Z]/.test(node.key?.name ?? "") ? [node.key.name] : [];
}

function toTypeName({ node }) {
  return /^(?:TSTypeAlias|TSInterface|Class)Declaration$/.test(node.type) ? [node.id?.name ?? ""] : [];
}

function toFunctionName({ node }) {
  if (node.type === "FunctionDeclaration") return [node.id?.name ?? ""];
  const isConstant = node.type === "VariableDeclarator" && node.init?.type === "ArrowFunctionExpression";
  return isConstant ? [node.id.name ?? ""] : [];
}
