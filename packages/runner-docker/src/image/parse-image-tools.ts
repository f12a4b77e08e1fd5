const MOST_TOOLS = 16;

// Such as `git`, `node@22.11`, `libssl-dev` or `@qwen-code/qwen-code`
const TOOL = /^@?[a-z0-9][a-z0-9.+_@/:=-]{0,39}$/;

// Names with spaces or commas between them
const LABEL = "dev.budgie.tools";

/**
 * Parses the names of tools in an image's labels: at most 16 of 40 characters, in small letters. Whoever built the image wrote the label, and models
 * read it: what does not look like a name is left out.
 */
export function parseImageTools(labels: Readonly<Record<string, unknown>> | null | undefined): readonly string[] {
  const label = labels?.[LABEL];
  if (typeof label !== "string") return [];
  const names = label
    .slice(0, 4_096)
    .split(/[\s,]+/)
    .filter((name) => TOOL.test(name));
  return [...new Set(names)].slice(0, MOST_TOOLS);
}
