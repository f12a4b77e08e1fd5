import { isDeepStrictEqual } from "node:util";
import { BudgieError, type EgressPolicy, type EgressReport } from "@budgie/core";
import type { SessionProxy } from "@budgie/egress";
import type { ProxySocket } from "../proxy/proxy-socket.ts";
import type { SessionContainer } from "./session-container.ts";
import type { IdleContainers } from "./idle-containers.ts";

/** A session's way out: a proxy socket for its session container's network, with the policy of the process that runs. */
export type SessionEgress = {
  /** Prepares the network of a process that is about to start. Whatever becomes of it, `close` must be called. */
  join(policy: EgressPolicy): TurnNetwork;
  close(): Promise<void>;
};

/** The network of one process. */
export type TurnNetwork = {
  /** For a container's `NetworkMode` */
  readonly mode: string;
  /** When a container can be started in it */
  readonly joinable: Promise<unknown>;
  /** When it leads where the policy allows, and nowhere else */
  readonly guarded: Promise<unknown>;
  /** Whether it was lost, such as with a session container that somebody removed, and is there again. */
  restore(): Promise<boolean>;
  readonly isWatched: boolean;
  /** Closes it once the process has ended, and tells what was reached and refused. */
  close(): Promise<EgressReport>;
};

export type SessionEgressParts = {
  readonly sessionContainer: SessionContainer;
  readonly proxySocket: ProxySocket;
  readonly idleContainers: IdleContainers;
};

const CLOSED: EgressPolicy = { mode: "none", hosts: [] };
const NOTHING: EgressReport = { allowed: [], denied: [] };

/** Creates a session's way out, still closed. */
export function createSessionEgress({
  sessionContainer,
  idleContainers,
  proxySocket,
}: SessionEgressParts): SessionEgress {
  let opening: Promise<SessionProxy> | undefined;
  let policy = CLOSED;
  let processes = 0;

  function open(): Promise<SessionProxy> {
    const opened = (opening ??= proxySocket.open());
    // One that could not be opened can be tried again.
    opened.catch(() => (opening = undefined));
    return opened;
  }

  async function guard(asked: EgressPolicy): Promise<void> {
    const sessionProxy = await open();
    await sessionProxy.setPolicy(asked).catch(async () => {
      // Who listened there is gone, such as a proxy in a container.
      opening = undefined;
      await (await open()).setPolicy(asked);
    });
  }

  async function closeNetwork(): Promise<EgressReport> {
    idleContainers.release(sessionContainer);
    if (--processes === 0) policy = CLOSED;
    try {
      const sessionProxy = await opening;
      if (policy === CLOSED) await sessionProxy?.setPolicy(CLOSED);
      return (await sessionProxy?.take()) ?? NOTHING;
    } catch {
      // What went away took its log with it.
      return NOTHING;
    }
  }

  function joinContainer(asked: EgressPolicy): TurnNetwork {
    // They share a network, and with it its proxy socket.
    if (processes > 0 && !isDeepStrictEqual(policy, asked)) throw anotherPolicy();
    processes++;
    policy = asked;
    idleContainers.acquire(sessionContainer);
    let report: Promise<EgressReport> | undefined;
    return {
      mode: `container:${sessionContainer.name}`,
      joinable: settled(sessionContainer.start()),
      guarded: settled(guard(asked)),
      async restore() {
        if (await sessionContainer.isRunning()) return false;
        await sessionContainer.start();
        return true;
      },
      isWatched: true,
      close: () => (report ??= closeNetwork()),
    };
  }

  return {
    join: (asked) =>
      asked.mode === "none" || asked.mode === "bridge" ? toPlainNetwork(asked.mode) : joinContainer(asked),
    async close() {
      idleContainers.forget(sessionContainer);
      // A proxy socket whose proxy is gone is closed, and must not keep the session from being removed.
      await opening?.then((sessionProxy) => sessionProxy.close()).catch(() => undefined);
      await proxySocket.remove();
    },
  };
}

function toPlainNetwork(mode: "none" | "bridge"): TurnNetwork {
  const done = Promise.resolve();
  return {
    mode,
    joinable: done,
    guarded: done,
    restore: async () => false,
    isWatched: false,
    close: async () => NOTHING,
  };
}

/** Whoever waits for it sees it fail; nobody may. */
function settled<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

function anotherPolicy(): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    "A process of this session runs with another egress policy. Wait until it has ended, or begin a new session.",
  );
}
