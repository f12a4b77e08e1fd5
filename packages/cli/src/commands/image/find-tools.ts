import { parse as parseToml } from "smol-toml";
import { parseJson } from "@budgie/core/text";
import { readInputs } from "@budgie/sandbox/images";

/** A tool that a project's files ask for. */
export type Tool = {
  readonly name: ToolName;
  /** Such as `22`, `3.12` or `1.23.4`: digits and dots only */
  readonly version: string;
  /** The file that says it */
  readonly file: string;
};

export type ToolName = "node" | "python" | "go" | "rust";

// In the order in which they count: the first that names a tool wins.
const READERS: readonly (readonly [string, (text: string) => readonly (readonly [ToolName, unknown])[]])[] = [
  ["mise.toml", readMise],
  [".mise.toml", readMise],
  [".nvmrc", (text) => [["node", text]]],
  [".node-version", (text) => [["node", text]]],
  ["package.json", (text) => [["node", at(parseJson(text), "engines", "node")]]],
  [".python-version", (text) => [["python", text]]],
  ["go.mod", (text) => [["go", /^go[ \t]+(\S+)[ \t]*$/m.exec(text)?.[1]]]],
  ["rust-toolchain.toml", readRust],
  ["rust-toolchain", (text) => (text.includes("[") ? readRust(text) : [["rust", text]])],
];

const LARGEST_BYTES = 64 * 2 ** 10;

/** Finds the tools that files of a directory ask for. The files are data: none is run, a symlink or a large one counts as missing. */
export function findTools(directory: string): readonly Tool[] {
  const found = READERS.flatMap(([file, read]) => readTools(directory, file, read));
  return found.filter((tool, index) => found.findIndex(({ name }) => name === tool.name) === index);
}

function readTools(directory: string, file: string, read: (typeof READERS)[number][1]): readonly Tool[] {
  try {
    const [input] = readInputs(directory, ".", file) ?? [];
    if (input === undefined || input.bytes.length > LARGEST_BYTES) return [];
    return read(input.bytes.toString("utf8")).flatMap(([name, said]) => {
      const version = findVersion(name, said);
      return version === undefined ? [] : [{ name, version, file }];
    });
  } catch {
    return [];
  }
}

// Plain versions only: others, such as "lts/*", would have to be looked up.
const VERSION = /^(?:>=|[\^~=v])?v?(\d{1,4}(?:\.\d{1,4}){0,2})(?:\.x)?(?=[\s|<&,-]|$)/;

function findVersion(name: ToolName, said: unknown): string | undefined {
  const first = Array.isArray(said) ? (said as readonly unknown[])[0] : said;
  const text = typeof first === "object" && first !== null ? at(first, "version") : first;
  const version = typeof text === "string" ? VERSION.exec(text.slice(0, 100).trimStart())?.[1] : undefined;
  // A range such as ">=18.2" is met by the latest of its major.
  return version !== undefined && name === "node" && /[>^~]/.test(String(text)) ? version.split(".")[0] : version;
}

function readMise(text: string): readonly (readonly [ToolName, unknown])[] {
  const tools = at(parseToml(text), "tools");
  return [
    ["node", at(tools, "node") ?? at(tools, "nodejs")],
    ["python", at(tools, "python")],
    ["go", at(tools, "go") ?? at(tools, "golang")],
    ["rust", at(tools, "rust")],
  ];
}

function readRust(text: string): readonly (readonly [ToolName, unknown])[] {
  return [["rust", at(parseToml(text), "toolchain", "channel")]];
}

/** Returns an own value in an object of objects; `undefined` if there is none. */
function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (held, key) =>
      typeof held === "object" && held !== null && Object.hasOwn(held, key)
        ? (held as Readonly<Record<string, unknown>>)[key]
        : undefined,
    value,
  );
}
