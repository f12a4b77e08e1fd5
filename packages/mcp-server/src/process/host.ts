import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "@budgie/core/protocol";

/** A person's terminal. */
export type HostTerminal = {
  readonly size: () => TerminalSize;
  /** Passes every key on, Ctrl-C too, instead of whole lines */
  readonly setRaw: (isRaw: boolean) => void;
  /** Calls the listener after each change of the size, until the returned function is called */
  readonly onResize: (listener: () => void) => () => void;
};

/** The environment of budgie's process. Only `main.ts` takes it from `process`. */
export type Host = {
  readonly env: NodeJS.ProcessEnv;
  /** Reads the environment with which the MCP client was started; `undefined` if it is unknown. */
  readonly clientEnv: () => NodeJS.ProcessEnv | undefined;
  readonly home: string;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** The process's user id; `undefined` on Windows */
  readonly uid: number | undefined;
  readonly stdin: Readable;
  /** True if a person types there */
  readonly stdinIsTerminal: boolean;
  /** The terminal that is both stdin and stdout; left out if there is none */
  readonly terminal?: HostTerminal | undefined;
  /** Carries only JSON-RPC if budgie is a server over stdio */
  readonly stdout: Writable;
  /** The terminal's width in characters; `undefined` when stdout is not one */
  readonly columns: number | undefined;
  /** The same for stderr */
  readonly stderrColumns: number | undefined;
  /** For a line that changes; everything else goes through `report` */
  readonly stderr: Pick<Writable, "write">;
  /** Writes one line to stderr. */
  readonly report: (line: string) => void;
  readonly exit: (code: number) => void;
  /** Signals, and exceptions that nobody caught */
  readonly events: Pick<NodeJS.EventEmitter, "off" | "on">;
};
