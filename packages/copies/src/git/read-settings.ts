export type ConfigSetting = {
  /** Lower case */
  readonly section: string;
  readonly subsection: string | undefined;
  /** Lower case */
  readonly name: string;
  readonly value: string;
};

/** Reads the settings of a file in git's syntax with their subsections, and skips what is malformed. */
export function readSettings(text: string): readonly ConfigSetting[] {
  const settings: ConfigSetting[] = [];
  let header: Header | undefined;
  for (const line of text.replaceAll("\r\n", "\n").replaceAll("\\\n", "").split("\n")) {
    const begun = line.trimStart();
    const end = begun.startsWith("[") ? findHeaderEnd(begun) : -1;
    if (end !== -1) header = parseHeader(begun.slice(1, end));
    const setting = parseSetting(begun.slice(end + 1).trim());
    if (header !== undefined && setting !== undefined) settings.push({ ...header, ...setting });
  }
  return settings;
}

/** Finds the last value of a setting without a subsection, by its name in lower case: `core.bare`. */
export function findSetting(settings: readonly ConfigSetting[], key: string): string | undefined {
  return settings.findLast(({ name, section, subsection }) => subsection === undefined && `${section}.${name}` === key)
    ?.value;
}

type Header = Pick<ConfigSetting, "section" | "subsection">;

/** Finds the end of a header, whose quoted subsection may have brackets and escaped quotes. */
function findHeaderEnd(line: string): number {
  let isQuoted = false;
  for (let at = 1; at < line.length; at++) {
    if (line[at] === "\\" && isQuoted) at++;
    else if (line[at] === '"') isQuoted = !isQuoted;
    else if (line[at] === "]" && !isQuoted) return at;
  }
  return -1;
}

function parseHeader(text: string): Header | undefined {
  const quote = text.indexOf('"');
  const name = (quote === -1 ? text : text.slice(0, quote)).trim();
  if (!/^[A-Za-z0-9-]+$/.test(name)) return undefined;
  const quoted = text.slice(quote + 1, text.lastIndexOf('"'));
  const subsection = quote === -1 ? undefined : quoted.replace(/\\([\s\S])/g, "$1");
  return { section: name.toLowerCase(), subsection };
}

function parseSetting(text: string): Pick<ConfigSetting, "name" | "value"> | undefined {
  const equals = text.indexOf("=");
  const name = (equals === -1 ? text : text.slice(0, equals)).trim().toLowerCase();
  if (!/^[a-z][a-z0-9-]*$/.test(name)) return undefined;
  return { name, value: equals === -1 ? "true" : parseValue(text.slice(equals + 1).trim()) };
}

/** Removes quotes, comments and escapes. */
function parseValue(text: string): string {
  let [value, isQuoted] = ["", false];
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (!isQuoted && "#;".includes(character)) break;
    if (character === '"') isQuoted = !isQuoted;
    else if (character === "\\") value += readEscape(text.charAt(++at));
    else value += character;
  }
  return isQuoted ? "" : value.trimEnd();
}

function readEscape(character: string): string {
  return ESCAPES[character] ?? character;
}

const ESCAPES: Readonly<Record<string, string | undefined>> = { n: "\n", t: "\t", b: "\b" };
