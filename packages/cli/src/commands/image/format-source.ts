import type { ImageSource } from "@budgie/sandbox/images";

const MOST_NAMES = 20;

/** Returns lines with all that an image is built from, the Dockerfile whole. They may hold anything: escape them for a terminal. */
export function formatSource(
  { args, bases, context, dockerfile, file, ignored, key, name, refused, target }: ImageSource,
  ids: Readonly<Record<string, string>> = {},
): readonly string[] {
  const others = context.flatMap(({ path }) => (path === name ? [] : [path]));
  const facts = {
    file,
    key,
    "built on": bases.map((base) => [base, ...(ids[base] ? [`(${ids[base]})`] : [])].join(" ")).join(", "),
    stage: target ?? "",
    arguments: Object.entries(args)
      .map((entry) => entry.join("="))
      .join(", "),
    // All of them, since all are allowed.
    beside: others.join(", "),
    ignored: joinNames(ignored),
    refused: refused.join("; "),
  };
  const rows = Object.entries(facts).filter(([, text]) => text !== "");
  const lines =
    dockerfile === ""
      ? []
      : [
          "",
          ...dockerfile
            .trimEnd()
            .split(/\r?\n/)
            .map((line) => `  ${line}`),
        ];
  return ["", ...rows.map(([title, text]) => `  ${title.padEnd(WIDTH)} ${text}`), ...lines];
}

const WIDTH = 9;

function joinNames(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? `, and ${names.length - MOST_NAMES} more` : "";
  return `${names.slice(0, MOST_NAMES).join(", ")}${more}`;
}
