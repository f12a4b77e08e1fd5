import type { Readable, Writable } from "node:stream";

/** What budgie has of the process it runs in; `main.ts` alone takes it from `process`. */
export type Host = {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** The process's user id; `undefined` on Windows */
  readonly uid: number | undefined;
  readonly stdin: Readable;
  /** Of a server it carries JSON-RPC, and nothing else */
  readonly stdout: Writable;
  /** The terminal's width in characters; `undefined` when stdout is not one */
  readonly columns: number | undefined;
  /** Tells the user something, in one line on stderr */
  readonly report: (line: string) => void;
  readonly exit: (code: number) => void;
  /** Signals, and exceptions that nobody caught */
  readonly events: Pick<NodeJS.EventEmitter, "on">;
};
