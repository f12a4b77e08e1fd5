import { isDeepStrictEqual } from "node:util";
import { BudgieError, type EgressPolicy, type EgressReport, type SandboxService } from "@budgie/core";
import type { SessionProxy } from "@budgie/egress";
import { checkReach } from "./check-reach.ts";
import { PROXY } from "../profile/proxy-environment.ts";
import type { OwnForwarder, ProxySocket } from "./proxy-socket.ts";
import type { IdleContainers } from "./idle-containers.ts";

/** A session's network: its container's, with a proxy that applies the policy of the running process. */
export type SessionEgress = {
  /**
   * Prepares the network of a process that is about to start. With `runsForwarder` the process gets its own network, and runs the forwarder
   * itself, if it can. The caller must call `close`, even if the start fails. Throws `CONFIG_INVALID` if the runtime would keep the process
   * from a network that it asks for.
   */
  join(policy: EgressPolicy, runsForwarder: boolean): ProcessNetwork;
  /** Returns the `NetworkMode` of a process that joins with this policy, and does not run the forwarder itself. */
  modeOf(policy: EgressPolicy): string;
  /** Opens the proxy, which denies everything. */
  open(): Promise<void>;
  /** Answers requests to the proxy itself, and returns their address for processes that start from now on. */
  readonly serve: (service: SandboxService) => string;
  /** Closes the proxy, and disposes of the service. */
  close(): Promise<void>;
};

/** The network of one process. */
export type ProcessNetwork = {
  /** A container's `NetworkMode` */
  readonly mode: string;
  /** The forwarder that its container runs, if it shares no network with the session's container */
  readonly forwarder?: OwnForwarder | undefined;
  /** Resolves when a container can be started in it */
  readonly joinable: Promise<unknown>;
  /** Resolves when the proxy applies the policy */
  readonly guarded: Promise<unknown>;
  /** Starts the session's container again if it was stopped or removed; `false` if it runs. */
  restore(): Promise<boolean>;
  /**
   * Reports the session's connections since the last call, also those of an earlier process. Resolves to `undefined` if there were none, and
   * this network is not monitored.
   */
  take(): Promise<EgressReport | undefined>;
  /** Closes the network of a process that has ended. */
  close(): Promise<void>;
};

/** The container whose network a session's processes join. */
type JoinedContainer = {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
};

export type EgressParts = {
  readonly sessionContainer: JoinedContainer;
  readonly proxySocket: ProxySocket;
  readonly idleContainers: IdleContainers;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
};

const CLOSED: EgressPolicy = { mode: "none", hosts: [] };
const NOTHING: EgressReport = { allowed: [], denied: [] };

/** Creates a session's network, with a proxy that denies everything. */
export function createSessionEgress({
  sessionContainer,
  idleContainers,
  proxySocket,
  runtime,
}: EgressParts): SessionEgress {
  const containerMode = `container:${sessionContainer.name}`;
  let opening: Promise<SessionProxy> | undefined;
  let policy = CLOSED;
  let processes = 0;
  let service: SandboxService | undefined;

  function open(): Promise<SessionProxy> {
    const opened = (opening ??= proxySocket.open().then(withAnswer));
    // After an error, the next call opens it again.
    opened.catch(() => (opening = undefined));
    return opened;
  }

  function withAnswer(sessionProxy: SessionProxy): SessionProxy {
    if (service !== undefined) sessionProxy.serve?.(service.answer, new URL(PROXY).host);
    return sessionProxy;
  }

  async function guard(asked: EgressPolicy): Promise<void> {
    const sessionProxy = await open();
    await sessionProxy.setPolicy(asked).catch(async () => {
      // The proxy may have ended, such as one in a container.
      opening = undefined;
      await (await open()).setPolicy(asked);
    });
  }

  async function closeProxy(): Promise<void> {
    if (--processes === 0) policy = CLOSED;
    if (policy === CLOSED) await opening?.then((sessionProxy) => sessionProxy.setPolicy(CLOSED)).catch(() => undefined);
  }

  async function take(): Promise<EgressReport> {
    try {
      return (await (await opening)?.take()) ?? NOTHING;
    } catch {
      // A proxy that ended took its log with it.
      return NOTHING;
    }
  }

  function joinContainer(asked: EgressPolicy): ProcessNetwork {
    checkReach(runtime);
    const guarded = joinProxy(asked);
    idleContainers.acquire(sessionContainer);
    let closing: Promise<void> | undefined;
    return {
      ...guarded,
      mode: containerMode,
      joinable: settled(sessionContainer.start()),
      async restore() {
        if (await sessionContainer.isRunning()) return false;
        await sessionContainer.start();
        return true;
      },
      close() {
        if (closing === undefined) idleContainers.release(sessionContainer);
        return (closing ??= guarded.close());
      },
    };
  }

  /** Returns a network with only a loopback interface, in which the process itself runs the forwarder. */
  function joinProxy(asked: EgressPolicy, forwarder?: OwnForwarder): ProcessNetwork {
    // Processes of a session share its proxy.
    if (processes > 0 && !isDeepStrictEqual(policy, asked)) throw anotherPolicy();
    processes++;
    policy = asked;
    let closing: Promise<void> | undefined;
    return {
      ...plainNetwork("none"),
      forwarder,
      guarded: settled(guard(asked)),
      take,
      close: () => (closing ??= closeProxy()),
    };
  }

  function modeOf({ mode }: EgressPolicy): string {
    return mode === "bridge" || (mode === "none" && service === undefined) ? mode : containerMode;
  }

  function plainNetwork(mode: string): ProcessNetwork {
    const done = Promise.resolve();
    return {
      mode,
      joinable: done,
      guarded: done,
      restore: async () => false,
      async take() {
        const left = await take();
        return Object.values(left).some((entries) => entries.length > 0) ? left : undefined;
      },
      close: async () => undefined,
    };
  }

  return {
    modeOf,
    join({ hosts, mode }, runsForwarder) {
      const own = modeOf({ hosts, mode });
      if (own !== containerMode) return plainNetwork(own);
      const forwarder = runsForwarder ? proxySocket.bringForwarder?.() : undefined;
      return forwarder === undefined ? joinContainer({ hosts, mode }) : joinProxy({ hosts, mode }, forwarder);
    },
    open: () => open().then(() => undefined),
    serve(next) {
      service = next;
      void opening?.then(withAnswer, () => undefined);
      return PROXY;
    },
    async close() {
      idleContainers.forget(sessionContainer);
      // A service that cannot be stopped must not keep the session from being removed.
      await Promise.allSettled([service?.[Symbol.asyncDispose]()]);
      // A proxy that has ended must not keep the session from being removed.
      await opening?.then((sessionProxy) => sessionProxy.close()).catch(() => undefined);
      await proxySocket.remove();
    },
  };
}

/** Marks a rejection as handled; callers that await the promise still see it. */
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
