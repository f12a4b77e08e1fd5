import type { Owner, Runner } from "@budgie/core";
import type { BaseFiles } from "@budgie/copies/copying";
import { sweepGarbage, type Sweep } from "@budgie/core/garbage";
import type { OutputFiles } from "@budgie/core/protocol";
import type { SessionRegister, SessionStore } from "@budgie/core/sessions";
import type { ChangeSets } from "@budgie/copies/sets";
import { escapeForTerminal } from "@budgie/core/text";
import type { ServerConfig } from "../config/server-config.ts";

type Dependencies = {
  readonly sessions: Pick<SessionStore, "expireIdle">;
  readonly runner: Runner;
  /** The runner of agents that run elsewhere; `undefined` if there are none */
  readonly elsewhere: Runner | undefined;
  readonly register: SessionRegister;
  readonly owner: Owner;
  /** Opens the change sets, whose interrupted applies are taken back */
  readonly changes: { readonly open: () => Promise<ChangeSets> };
  readonly report: (line: string) => void;
  readonly outputFiles: Pick<OutputFiles, "prune">;
  readonly bases: Pick<BaseFiles, "sweep">;
  readonly config: Pick<ServerConfig, "sandbox" | "sessionTtlMs">;
};

const WEEK_MS = 7 * 24 * 60 * 60_000;

/** Returns what a server removes at intervals, in order. */
export function listSweeps({
  bases,
  changes,
  config,
  elsewhere,
  outputFiles,
  owner,
  register,
  report,
  runner,
  sessions,
}: Dependencies): readonly Sweep[] {
  return [
    async () => {
      await sessions.expireIdle(config.sessionTtlMs);
      return [];
    },
    () => sweepGarbage(runner, register, owner),
    // Without a sandbox, these are the same folders.
    ...(elsewhere === undefined || !config.sandbox ? [] : [() => sweepGarbage(elsewhere, register, owner)]),
    async () => {
      outputFiles.prune();
      return [];
    },
    async () => {
      // No session is kept for longer; one that lost its base is copied anew.
      await bases.sweep(Math.max(2 * config.sessionTtlMs, WEEK_MS));
      return [];
    },
    async () => {
      const { recoverApplies } = await import("@budgie/copies/apply");
      const lines = await recoverApplies({ sets: await changes.open(), owner });
      lines.map(escapeForTerminal).forEach(report);
      return [];
    },
  ];
}
