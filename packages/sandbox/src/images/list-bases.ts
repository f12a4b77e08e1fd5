import { listInstructions } from "./judge-dockerfile.ts";

type Bases = {
  /** The names of images as the Dockerfile has them, each once; stages and `scratch` left out */
  readonly names: readonly string[];
  /** The reasons why it is not built */
  readonly refused: readonly string[];
};

/** Lists the images that a Dockerfile is built on: those of `FROM`, with its arguments filled in, and of `COPY --from`. */
export function listBases(dockerfile: string, args: Readonly<Record<string, string>>): Bases {
  const read: Reading = { args, values: new Map(), stages: new Set(["scratch"]), names: new Set(), refused: [] };
  let isAbove = true;
  for (const instruction of listInstructions(dockerfile.replace(/^\uFEFF/, "").split(/\r?\n/))) {
    const [keyword = "", ...words] = instruction.split(/\s+/);
    const name = keyword.toUpperCase();
    if (name === "ARG" && isAbove) readArgument(read, words.join(" "));
    if (name === "FROM") readStage(read, words);
    if (name === "COPY") readCopy(read, words);
    if (name === "FROM") isAbove = false;
  }
  return { names: [...read.names], refused: read.refused };
}

type Reading = {
  readonly args: Readonly<Record<string, string>>;
  readonly values: Map<string, string>;
  readonly stages: Set<string>;
  readonly names: Set<string>;
  readonly refused: string[];
};

function readStage({ names, refused, stages, values }: Reading, words: readonly string[]): void {
  const [base = "", as = "", stage = ""] = words.filter((word) => !word.startsWith("--"));
  const name = fillIn(base, values);
  if (name === undefined) refused.push(`"FROM ${base.slice(0, 60)}" has no plain argument with a value`);
  else if (!stages.has(name.toLowerCase())) names.add(name);
  if (/^AS$/i.test(as)) stages.add(stage.toLowerCase());
}

function readCopy({ names, stages }: Reading, words: readonly string[]): void {
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
  // A number is that of a stage.
  if (from !== undefined && !/^\d+$/.test(from) && !stages.has(from.toLowerCase())) names.add(from);
}

/** Notes the value of an `ARG` above the first `FROM`, the only ones that `FROM` knows. */
function readArgument({ args, values }: Reading, text: string): void {
  const [name = "", ...rest] = text.split("=");
  const value = args[name] ?? (rest.length === 0 ? undefined : rest.join("=").replace(/^(["'])(.*)\1$/, "$2"));
  if (value !== undefined) values.set(name, value);
}

/** Fills in `$NAME` and `${NAME}`; `undefined` for any other form, and for one without a value. */
function fillIn(text: string, values: ReadonlyMap<string, string>): string | undefined {
  let isWhole = true;
  const filled = text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, plain?: string) => {
    const value = values.get(braced ?? plain ?? "");
    isWhole &&= value !== undefined && !value.includes("$");
    return value ?? "";
  });
  return isWhole && filled !== "" && !/[$"'\\]/.test(filled) ? filled : undefined;
}
