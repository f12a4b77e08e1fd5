import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { Host } from "@budgie/mcp-server";

/** Returns a host that is a process on Linux without an environment or outputs. */
export function toSilentHost(given: Pick<Host, "cwd" | "home"> & Partial<Host>): Host {
  return {
    env: {},
    clientEnv: () => undefined,
    platform: "linux",
    uid: 1000,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    columns: undefined,
    stdinIsTerminal: false,
    stderrColumns: undefined,
    stderr: new PassThrough(),
    report: () => undefined,
    exit: () => undefined,
    events: new EventEmitter(),
    ...given,
  };
}
