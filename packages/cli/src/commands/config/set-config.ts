import { dirname } from "node:path";
import { BudgieError } from "@budgie/core";
import { parseJson } from "@budgie/core/text";
import { parseConfigFile } from "../../config/config-file.ts";
import { parseSource, toSource } from "../../config/config.ts";
import { resolvePath, type Host } from "@budgie/mcp-server";
import { resolveLinks } from "../../config/build-workspaces.ts";
import { formatPatch } from "../install/format-diff.ts";
import { jsonFormat, maskValues, putValue, removeValue } from "../install/json-format.ts";
import { loadOwnFile } from "../install/load-client-file.ts";
import { replaceClientFile } from "../install/replace-client-file.ts";

export type SetConfigOptions = {
  /** The configuration file, which need not exist */
  readonly file: string;
  /** Such as `sandbox`, or `agents.code-reviewer.timeout` */
  readonly key: string;
  /** JSON, or a text without quotes; `undefined` to remove the key */
  readonly value: string | undefined;
  /** The directory whose section in `workspaces` has the key; `undefined` for a key of all */
  readonly sectionOf?: string | undefined;
};

/** Runs `budgie config set` and `budgie config unset`: changes one key of the configuration file, if the result is a valid one. */
export function setConfig({ file: path, key, sectionOf, value }: SetConfigOptions, host: Host): number {
  const file = loadOwnFile(path);
  const section =
    sectionOf === undefined
      ? []
      : [
          "workspaces",
          findSectionName(file.text, resolveLinks(resolvePath(sectionOf, host)), {
            home: host.home,
            cwd: dirname(path),
          }),
        ];
  const keys = [...section, ...splitKey(key)];
  const text = value === undefined ? removeValue(file.text, keys) : putValue(file.text, keys, toValue(value));
  return write({ file, text, changed: [keys] }, host);
}

/** Sets keys at the top of the configuration file, in one change. */
export function setKeys(path: string, values: Readonly<Record<string, unknown>>, host: Host): number {
  const file = loadOwnFile(path);
  let { text } = file;
  for (const [key, value] of Object.entries(values)) text = putValue(text, [key], value);
  return write({ file, text, changed: Object.keys(values).map((key) => [key]) }, host);
}

type Change = {
  readonly file: ReturnType<typeof loadOwnFile>;
  readonly text: string;
  /** The keys whose values may be shown */
  readonly changed: readonly (readonly string[])[];
};

/** Writes the text and shows the change, if it is a valid configuration. */
function write({ changed, file, text }: Change, host: Host): number {
  const { path } = file;
  if (text === file.text) {
    host.stdout.write(`Nothing to change in "${path}".\n`);
    return 0;
  }
  const content = parseConfigFile(jsonFormat.parse(text), { file: path, home: host.home });
  parseSource(toSource({ file: path, content }, {}), host);
  const isShown = (at: readonly (number | string)[]): boolean =>
    changed.some((keys) => keys.every((name, level) => at[level] === name));
  host.stdout.write(formatPatch(path, [file.text, text], (shown) => maskValues(shown, isShown)));
  replaceClientFile(file, { text, mode: 0o600, keepsBackup: false });
  host.stdout.write(`Wrote "${path}". A server that runs already does not read it again.\n`);
  return 0;
}

/**
 * Finds the name of a directory's section, by its real path, as the file spells it; for a new one, the path with `~` for the home. `cwd` is
 * the folder of the file, from which its paths go.
 */
function findSectionName(text: string, path: string, { cwd, home }: Pick<Host, "cwd" | "home">): string {
  const { workspaces = {} } = jsonFormat.parse(text) as { workspaces?: unknown };
  const names = typeof workspaces === "object" && workspaces !== null ? Object.keys(workspaces) : [];
  const known = names.find((name) => resolveLinks(resolvePath(name, { cwd, home })) === path);
  return known ?? (path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path);
}

/** Splits a key at its dots, except those between quotes: `agents."kagent.reviewer".timeout`. */
function splitKey(key: string): readonly string[] {
  const pieces = key.split('"');
  const last = pieces.length - 1;
  const parts = pieces.flatMap((piece, at) => {
    if (at % 2 === 1) return [piece];
    const plain = piece.slice(
      at > 0 && piece.startsWith(".") ? 1 : 0,
      at < last && piece.endsWith(".") ? -1 : undefined,
    );
    return plain === "" && last > 0 ? [] : plain.split(".");
  });
  if (last % 2 === 0 && !parts.includes("")) return parts;
  const example = 'agents.NAME.timeout, or agents."NAME.WITH.DOTS".timeout';
  throw invalid(`Expected a key such as sandbox, ${example}, got ${JSON.stringify(key)}.`);
}

function toValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function invalid(message: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", message);
}
