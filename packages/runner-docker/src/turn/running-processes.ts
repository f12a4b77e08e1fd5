import type { AgentProcess } from "@budgie/core";
import { endProcess, toStanding, type Standby, type StandbyPlace } from "@budgie/core/standby";
import type { ProcessNetwork } from "@budgie/sandbox/egress";
import { unverifiedError } from "../engine/pending-removals.ts";
import { API_LIMIT_MS, withTimeout } from "../engine/with-timeout.ts";
import type { SandboxProcess } from "./sandbox-process.ts";

type FollowOptions = {
  readonly network: ProcessNetwork;
  /** Description of what it was told, with which it can stand by; `undefined` if it cannot */
  readonly told: string | undefined;
  /** Called once it has ended by itself, and its container is removed */
  readonly onGone: () => void;
};

/** Creates the table of a session's processes, in whose home `heldBytes` are used. */
export function createRunningProcesses(standby: Pick<StandbyPlace<Standby>, "hold">, heldBytes: number | undefined) {
  const running = new Set<SandboxProcess>();
  const finishing = new Set<SandboxProcess>();
  const allOf = (wait: "gone" | "still"): Promise<unknown> =>
    withTimeout(Promise.all([...finishing].map((child) => child[wait])), API_LIMIT_MS).catch((cause: unknown) => {
      throw unverifiedError(cause);
    });
  const hurry = (): void => {
    for (const child of finishing) child.hurry();
  };
  const note = <Report extends { readonly homeBytes: number } | undefined>(report: Report): Report => {
    heldBytes = report?.homeBytes;
    return report;
  };

  /** Follows a process to its end, and adds its reports. */
  function follow(child: SandboxProcess, { network, onGone, told }: FollowOptions): AgentProcess {
    let closing: Promise<void> | undefined;
    let isEnded = false;
    running.add(child);
    const finish = (): void => {
      closing = network.close();
      running.delete(child);
      finishing.add(child);
      void child.gone.then(() => finishing.delete(child));
    };
    child.exit.then(finish, finish);
    void child.lastDisk.then(note);
    void Promise.all([child.exit, child.gone]).then(
      ([{ reason }]) => reason === undefined && !isEnded && onGone(),
      () => undefined,
    );
    const process: AgentProcess = {
      ...child,
      egress: async () => (await closing, network.take()),
      disk: async () => note(await child.disk()),
    };
    if (told === undefined) return process;
    async function end(): Promise<void> {
      isEnded = true;
      await endProcess(child);
      // The next process may have another network.
      await closing;
    }
    return toStanding(process, standby, { key: toProcessKey(child.key, told), end });
  }

  return {
    follow,
    count: () => running.size,
    /** Size of the home after the last report; `undefined` if unknown */
    heldBytes: () => heldBytes,
    /** Resolves once the containers of those that have ended are removed. */
    lastGone() {
      hurry();
      return allOf("gone");
    },
    /** Resolves once nothing of those that have ended runs, although their containers may still be there. */
    lastStill: () => allOf("still"),
    stop() {
      hurry();
      return Promise.all([...running].map((child) => child.stop("shutdown")));
    },
  };
}

/** Returns the key of a process: of its sandbox, and of what it was told. */
export function toProcessKey(sandbox: string, told: string): string {
  return `${sandbox}\n${told}`;
}
