import type { Writable } from "node:stream";
import type { HomeRecord } from "./runner.ts";
import type { SessionId } from "./session-id.ts";

/** The session homes of all owners in one kind of place, for commands that manage them. */
export interface SessionHomes {
  list(): Promise<readonly HomeRecord[]>;
  /** Ends a session's processes and removes all of it. The caller makes sure that no live process owns it. */
  remove(id: SessionId): Promise<void>;
  /**
   * Writes a home to `to` as a tar, and ends the stream. The home is only read, and may be in use. Copies of the host's login are left out,
   * and those of other programs' logins at the paths `logins` below the home; default none.
   * Resolves to a sentence for each omitted entry; throws `SESSION_NOT_FOUND` if there is no such home.
   */
  pack(
    id: SessionId,
    to: Writable,
    options: { readonly signal: AbortSignal; readonly logins?: readonly string[] | undefined },
  ): Promise<readonly string[]>;
  /** Measures the running turns of these sessions, by session. A session whose turn runs no process is left out. */
  measure(ids: readonly string[]): Promise<ReadonlyMap<string, ResourceUse>>;
}

/** The resource use of a running turn. */
export type ResourceUse = {
  /** The container's id; `undefined` without a sandbox */
  readonly container?: string | undefined;
  /** The Pod's name; `undefined` unless it is on a cluster */
  readonly pod?: string | undefined;
  /** The first process's id; `undefined` in a sandbox */
  readonly pid?: number | undefined;
  /** The processor time since the process's start; `undefined` if unknown */
  readonly cpuMs: number | undefined;
  readonly memoryBytes: number | undefined;
  /** The services beside it, by the names of the configuration; left out if there are none */
  readonly services?: readonly ServiceUse[] | undefined;
};

/** The resource use of a service of a session. */
type ServiceUse = Pick<ResourceUse, "cpuMs" | "memoryBytes"> & { readonly name: string };
