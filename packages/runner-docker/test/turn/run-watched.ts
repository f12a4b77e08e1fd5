import { text } from "node:stream/consumers";
import type { AllowedHost, Command, EgressReport, RunnerSession } from "@budgie/core";
import type { Ran } from "../helpers/docker-place.ts";

/** The image of real programs, built by `scripts/programs-image`. */
export const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

export type WatchedRun = {
  readonly directory: string;
  /** The allowed hosts */
  readonly hosts: readonly AllowedHost[];
  /** Text on stderr after which the program, which never ends by itself, is stopped */
  readonly hopeless?: RegExp | undefined;
};

/** Runs a command in a session to its end, and returns its egress report. */
export async function runWatched(
  session: RunnerSession,
  command: Pick<Command, "argv"> & Partial<Command>,
  { directory, hopeless, hosts }: WatchedRun,
): Promise<Ran & { readonly egress: EgressReport }> {
  const child = await session.start(
    { env: {}, projections: [], ...command },
    { directory, input: "", access: { workspace: "rw", egress: { mode: "allowlist", hosts }, limits: {} } },
  );
  let said = "";
  child.stderr.on("data", (piece: Buffer) => {
    said += piece.toString();
    if (hopeless?.test(said) === true) void child.stop("cancelled");
  });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  const egress = await child.egress?.();
  if (egress === undefined) throw new Error("The network access of the process was not recorded.");
  return { stdout, stderr, exit, egress };
}

/** Returns a host name that resolves to a server on this machine's loopback. */
export function pinned(host: string, port: number): AllowedHost {
  return { host, port, address: "127.0.0.1", from: "test" };
}
