export type GitSetting = {
  /** Section and name, without a subsection, in lower case: `filter.clean` */
  readonly key: string;
  readonly value: string;
  /** True for a setting of `[filter "lfs"]`, false for one of `[filter]` */
  readonly hasSubsection: boolean;
};

/** Parses git's configuration syntax, and skips lines that are malformed. */
export function parseGitConfig(text: string): readonly GitSetting[] {
  let section = "";
  let hasSubsection = false;
  const settings: GitSetting[] = [];
  for (const line of joinLines(text)) {
    const end = line.startsWith("[") ? findHeaderEnd(line) : -1;
    if (end !== -1) hasSubsection = /[\s."]/.test(line.slice(1, end).trim());
    if (end !== -1) section = parseSection(line.slice(1, end));
    const setting = line.slice(end + 1).trim();
    const equals = setting.indexOf("=");
    if (equals === -1) continue;
    const name = setting.slice(0, equals).trim().toLowerCase();
    if (section === "" || !NAME.test(name)) continue;
    settings.push({ key: `${section}.${name}`, value: parseValue(setting.slice(equals + 1).trim()), hasSubsection });
  }
  return settings;
}

const NAME = /^[a-z][a-z0-9-]*$/;

/** Joins a line that ends with a backslash and the next. */
function joinLines(text: string): readonly string[] {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\\\n", "")
    .split("\n")
    .map((line) => line.trim());
}

/** Finds the end of a section's header. A subsection's name is quoted, and may have brackets. */
function findHeaderEnd(line: string): number {
  const [quote, end] = [line.indexOf('"'), line.indexOf("]")];
  return quote === -1 || quote > end ? end : line.indexOf("]", line.indexOf('"', quote + 1));
}

/** Removes the subsection of `filter "lfs"`, and of the older `filter.lfs`. */
function parseSection(header: string): string {
  return (header.trim().split(/[\s."]/, 1)[0] ?? "").toLowerCase();
}

/** Removes quotes, comments and escapes. */
function parseValue(text: string): string {
  let [value, isQuoted] = ["", false];
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? "";
    if (character === '"') isQuoted = !isQuoted;
    else if (character === "\\") value += text[++index] ?? "";
    else if (!isQuoted && (character === "#" || character === ";")) break;
    else value += character;
  }
  return value.trim();
}
