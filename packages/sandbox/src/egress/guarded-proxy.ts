import { isDeepStrictEqual } from "node:util";
import { BudgieError, type EgressPolicy, type EgressReport, type SandboxService } from "@budgie/core";
import type { SessionProxy } from "@budgie/egress";
import { PROXY } from "../profile/proxy-environment.ts";
import type { ProxySocket } from "./proxy-socket.ts";

/** A session's proxy, which applies the policy of the running process. */
export type GuardedProxy = {
  /** Opens it. It denies everything until a process joins */
  readonly open: () => Promise<void>;
  /** Applies the policy of a process that is about to start. Throws `INPUT_INVALID` while one with another policy runs */
  join(policy: EgressPolicy): ProxiedNetwork;
  /** Returns the network of a process that the proxy has nothing for: one without a policy, or a network of its own. */
  joinWithout(): ProxiedNetwork;
  /** Tells if a process with this policy reaches the proxy: it may connect somewhere, or budgie answers it */
  isReached(policy: EgressPolicy): boolean;
  /** Answers requests to the proxy itself, and returns their address for processes that start from now on. */
  readonly serve: (service: SandboxService) => string;
  /** Closes the proxy, and disposes of the service. */
  close(): Promise<void>;
};

/** The network of one process, as far as a proxy is concerned. */
export type ProxiedNetwork = {
  /** Resolves when the proxy applies the policy */
  readonly guarded: Promise<unknown>;
  /**
   * Reports the session's connections since the last call, also those of an earlier process. Resolves to `undefined` if there were none, and
   * this network is not monitored.
   */
  take(): Promise<EgressReport | undefined>;
  /** Closes the network of a process that has ended. */
  close(): Promise<void>;
};

const CLOSED: EgressPolicy = { mode: "none", hosts: [] };
const NOTHING: EgressReport = { allowed: [], denied: [] };

/** Creates the proxy of a session, which denies everything. */
export function createGuardedProxy(socket: Pick<ProxySocket, "open" | "remove">): GuardedProxy {
  let opening: Promise<SessionProxy> | undefined;
  let policy = CLOSED;
  let processes = 0;
  let service: SandboxService | undefined;

  function open(): Promise<SessionProxy> {
    const opened = (opening ??= socket.open().then(withAnswer));
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

  async function leave(): Promise<void> {
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

  return {
    open: () => open().then(() => undefined),
    join(asked) {
      // Processes of a session share its proxy.
      if (processes > 0 && !isDeepStrictEqual(policy, asked)) throw anotherPolicy();
      processes++;
      policy = asked;
      let leaving: Promise<void> | undefined;
      return { guarded: settled(guard(asked)), take, close: () => (leaving ??= leave()) };
    },
    joinWithout: () => ({
      guarded: Promise.resolve(),
      async take() {
        const left = await take();
        return Object.values(left).some((entries) => entries.length > 0) ? left : undefined;
      },
      close: async () => undefined,
    }),
    isReached: ({ mode }) => mode !== "bridge" && (mode !== "none" || service !== undefined),
    serve(next) {
      service = next;
      void opening?.then(withAnswer, () => undefined);
      return PROXY;
    },
    async close() {
      // A service that cannot be stopped must not keep the session from being removed.
      await Promise.allSettled([service?.[Symbol.asyncDispose]()]);
      // A proxy that has ended must not keep the session from being removed.
      await opening?.then((sessionProxy) => sessionProxy.close()).catch(() => undefined);
      await socket.remove();
    },
  };
}

/** Marks a rejection as handled; callers that await the promise still see it. */
export function settled<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

function anotherPolicy(): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    "A process of this session runs with another egress policy. Wait until it has ended, or begin a new session.",
  );
}
