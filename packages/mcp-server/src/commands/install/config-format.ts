/** What a client's configuration says of one server, or a part of it. */
export type Entry = Readonly<Record<string, unknown>>;

/** Where in a configuration a server is: the key of all servers, and its name. */
export type ServerPath = readonly [servers: string, name: string];

/** A kind of configuration file, as text: what is not about the server in question keeps every byte. */
export interface ConfigFormat {
  /** What the text says, or throws an `Error` that tells the place of a mistake, and nothing of what stands there */
  readonly parse: (text: string) => Record<string, unknown>;
  /** Adds the server, or sets these keys of one that is there */
  readonly put: (text: string, path: ServerPath, entry: Entry) => string;
  /** Takes out a server that is there */
  readonly remove: (text: string, path: ServerPath) => string;
  /** Hides values and comments that are not of these keys of the server: they may be anybody's secrets */
  readonly mask: (text: string, path: ServerPath, shown: ReadonlySet<string>) => string;
}

/** How the lines of a text end. */
export function toEol(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? "\n";
}

/** Whether a value is an object of keys. */
export function isEntry(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
