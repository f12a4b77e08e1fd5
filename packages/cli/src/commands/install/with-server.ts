import { isDeepStrictEqual } from "node:util";
import { BudgieError } from "@budgie/core";
import { isEntry, type ConfigFormat, type Entry, type ServerPath } from "./config-format.ts";

/** One server of one configuration file. */
export type Target = { readonly file: string; readonly format: ConfigFormat; readonly path: ServerPath };

/** Returns the server's entry; `undefined` if there is none. Throws `CONFIG_INVALID` naming the file and the place of a fault. */
export function serverOf(text: string, { file, format, path: [servers, name] }: Target): unknown {
  const { [servers]: all = {} } = parse(text, { file, format });
  if (isEntry(all)) return Object.hasOwn(all, name) ? all[name] : undefined;
  throw new BudgieError(
    "CONFIG_INVALID",
    `Expected "${servers}" in "${file}" to be a table of servers. Nothing was changed; correct the file.`,
  );
}

/** Returns whether a server is a budgie, by its command and arguments. */
export function isBudgie(server: unknown): server is Entry {
  if (!isEntry(server)) return false;
  const [command, ...words] = [server["command"], server["args"]].flat() as readonly unknown[];
  return isLike(COMMAND, command) || words.some((word) => isLike(ARGUMENT, word));
}

const COMMAND = /^(?:.*[/\\])?budgie(?:\.js|\.cmd)?$/;
// Other servers may have a directory of this name as an argument.
const ARGUMENT = /^(?:(?:.*[/\\]bin[/\\])?budgie|(?:.*[/\\])?budgie\.(?:js|cmd)|budgie-mcp(?:@.*)?)$/;

function isLike(pattern: RegExp, word: unknown): boolean {
  return typeof word === "string" && pattern.test(word);
}

/** Returns the text with this server. Keeps other keys of a present budgie, and replaces any other server. */
export function withServer(text: string, target: Target, entry: Entry): string {
  const before = serverOf(text, target);
  const expected = { ...(isBudgie(before) ? before : {}), ...entry };
  // Ignores layout
  if (toPlain(before) === toPlain(expected)) return text;
  const free = before === undefined || isBudgie(before) ? text : target.format.remove(text, target.path);
  return checked(text, target.format.put(free, target.path, entry), { ...target, expected });
}

/** Returns the text without this server. */
export function withoutServer(text: string, target: Target): string {
  return checked(text, target.format.remove(text, target.path), { ...target, expected: undefined });
}

type Edit = Target & { readonly expected: Entry | undefined };

/** Throws if the edited text does not parse as intended, for example because the file names a server twice. */
function checked(before: string, after: string, edit: Edit): string {
  if (isMeant(before, after, edit)) return after;
  const [servers, name] = edit.path;
  throw new BudgieError(
    "CONFIG_INVALID",
    `"${servers}" or its "${name}" in "${edit.file}" is written in a way that budgie cannot edit, such as twice, or in one ` +
      `line of TOML. Nothing was changed; write it in the usual way, or edit the file yourself.`,
  );
}

function isMeant(before: string, after: string, edit: Edit): boolean {
  try {
    const { rest: had } = split(before, edit);
    const { rest, server } = split(after, edit);
    return isDeepStrictEqual(rest, had) && toPlain(server) === toPlain(edit.expected);
  } catch {
    return false;
  }
}

/** Splits the content of a text into the server and the rest. */
function split(text: string, { format, path: [servers, name] }: Edit): { rest: unknown; server: unknown } {
  const content = format.parse(text);
  const { [servers]: all = {}, ...rest } = content;
  if (!isEntry(all)) return { rest: content, server: undefined };
  const { [name]: server, ...others } = all;
  return { rest: { ...rest, [servers]: others }, server };
}

/** Serializes a server regardless of the order of its keys. */
function toPlain(server: unknown): string | undefined {
  if (!isEntry(server)) return JSON.stringify(server);
  const sorted = Object.entries(server).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(sorted, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

function parse(text: string, { file, format }: Pick<Target, "file" | "format">): Record<string, unknown> {
  try {
    return format.parse(text);
  } catch (cause) {
    const why = cause instanceof RangeError ? "it is nested too deeply" : (cause as Error).message;
    throw new BudgieError(
      "CONFIG_INVALID",
      `Cannot read "${file}": ${why}. Nothing was changed; correct the file first.`,
      { cause },
    );
  }
}
