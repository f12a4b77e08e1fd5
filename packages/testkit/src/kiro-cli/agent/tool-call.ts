/** A call of a tool. */
export type ToolCall = {
  /** The name that agent files use, such as `fs_write`, or `@server/tool` */
  readonly name: string;
  /** The file it acts on */
  readonly path: string | undefined;
  readonly input: Readonly<Record<string, string>>;
};

// The second engine has shorter names, and accepts both.
const SHORT_NAMES: Readonly<Record<string, string>> = {
  fs_read: "read",
  fs_write: "write",
  execute_bash: "shell",
  use_aws: "aws",
};

/** Returns the second engine's name of a tool. */
export function toShortName(name: string): string {
  return SHORT_NAMES[name] ?? name;
}

/** Returns the first engine's name of a tool, if it has another. */
export function toLongName(name: string): string | undefined {
  return Object.keys(SHORT_NAMES).find((long) => SHORT_NAMES[long] === name);
}
