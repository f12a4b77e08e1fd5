/** The parsed JSON of a file. */
export type ConfigSource = {
  readonly content: unknown;
  /** The file's path, for messages */
  readonly file: string;
};

/** Returns a place in a file, for messages. */
export function formatPlace({ file }: ConfigSource, path: string): string {
  return `"${path}" in "${file}"`;
}
