/** A server's entry in a client's configuration, or a part of it. */
export type Entry = Readonly<Record<string, unknown>>;

/** The path of a server in a configuration: the key of all servers, and its name. */
export type ServerPath = readonly [servers: string, name: string];

/** An editor for one kind of configuration file. Text outside the server's entry keeps every byte. */
export interface ConfigFormat {
  /** Parses the text. Throws an `Error` with the place of a fault and without the text there, which may be a secret. */
  readonly parse: (text: string) => Record<string, unknown>;
  /** Adds the server, or sets these keys of an existing one. */
  readonly put: (text: string, path: ServerPath, entry: Entry) => string;
  /** Removes an existing server. */
  readonly remove: (text: string, path: ServerPath) => string;
  /** Masks all values and comments except these keys of the server, since they may be secrets. */
  readonly mask: (text: string, path: ServerPath, shown: ReadonlySet<string>) => string;
}

/** Returns the line ending of a text. */
export function findEol(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? "\n";
}

/** Returns whether a value is a plain object. */
export function isEntry(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
