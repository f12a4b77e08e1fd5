const MOST_TOOLS = 16;

// Such as `git`, `node@22.11`, `libssl-dev` or `@qwen-code/qwen-code`
const TOOL = /^@?[a-z0-9][a-z0-9.+_@/:=-]{0,39}$/;

// Names with spaces or commas between them
const LABEL = "dev.budgie.tools";

// The versions that the official images of languages have in their variables
const VERSIONS: ReadonlyMap<string, string> = new Map([
  ["NODE_VERSION", "node"],
  ["PYTHON_VERSION", "python"],
  ["GOLANG_VERSION", "go"],
  ["RUST_VERSION", "rust"],
  ["JAVA_VERSION", "java"],
  ["RUBY_VERSION", "ruby"],
  ["PHP_VERSION", "php"],
]);

type ImageConfig = {
  readonly Env?: readonly string[] | null;
  readonly Labels?: Readonly<Record<string, unknown>> | null;
};

/**
 * Parses the names of tools in an image's label and variables: at most 16 of 40 characters, in small letters. Whoever built the image wrote
 * them, and models read them: what does not look like a name is left out.
 */
export function parseImageTools({ Env, Labels }: ImageConfig): readonly string[] {
  const versions = (Env ?? []).flatMap((variable) => {
    const [name = "", version = ""] = variable.slice(0, 100).split("=");
    const tool = VERSIONS.get(name);
    return tool === undefined || version === "" ? [] : [`${tool}@${version}`];
  });
  const known = new Set(versions.map(toName));
  const label = Labels?.[LABEL];
  const labelled = typeof label === "string" ? label.slice(0, 4_096).split(/[\s,]+/) : [];
  // A derived image inherits the label, and has set its variables itself.
  const names = [...versions, ...labelled.filter((tool) => !known.has(toName(tool)))].filter((tool) => TOOL.test(tool));
  return [...new Set(names)].slice(0, MOST_TOOLS);
}

function toName(tool: string): string {
  // A scope begins with that character too.
  const end = tool.indexOf("@", 1);
  return end === -1 ? tool : tool.slice(0, end);
}
