import { createManagedServer, type ManagedServer, type ManagedServerOptions } from "./managed-server.ts";
import type { ServerState } from "./server-state.ts";

/** One instance of a server that several managers use. It starts for the first that needs it, and ends with its own disposal. */
export type SharedServer = AsyncDisposable & {
  readonly state: () => ServerState;
  /** Returns one manager's view of the server, with its own tools, events and `close`. */
  readonly join: (user: ServerUser) => ManagedServer;
};

type ServerUser = Pick<ManagedServerOptions, "onEvent" | "select">;

/** Creates a shared server, without starting it. */
export function createSharedServer(options: Omit<ManagedServerOptions, keyof ServerUser>): SharedServer {
  const users = new Set<ManagedServerOptions["onEvent"]>();
  const managed = createManagedServer({
    ...options,
    select: (tools) => tools,
    onEvent(event) {
      for (const tell of users) tell(event);
    },
  });
  return {
    state: managed.state,
    join(user) {
      const one = createUse(managed, user);
      users.add(one.tell);
      const close = async (): Promise<void> => {
        users.delete(one.tell);
        one.leave();
      };
      return { ...one.server, close };
    },
    [Symbol.asyncDispose]: managed.close,
  };
}

/** Returns one user's view of a server. */
function createUse(managed: ManagedServer, { onEvent, select }: ServerUser) {
  const leaving = new AbortController();
  const tools = (): ReturnType<ManagedServer["tools"]> => select(managed.tools());
  let isStarted = false;

  const tell: ManagedServerOptions["onEvent"] = (event) => {
    if (event.kind === "ready") return onEvent({ ...event, tools: tools().length });
    if (event.kind !== "tools-changed") return onEvent(event);
    const changed = event.tools.filter((name) => tools().some((tool) => tool.name === name));
    if (changed.length > 0) onEvent({ ...event, tools: changed });
  };

  async function start(): Promise<void> {
    // Only earlier users were told that it is ready.
    if (!isStarted && managed.state() === "ready") tell({ kind: "ready", tools: 0, problems: [] });
    isStarted = true;
    await managed.start();
  }

  const server: Omit<ManagedServer, "close"> = {
    ...managed,
    state: () => (leaving.signal.aborted ? "not-launched" : managed.state()),
    tools,
    start,
    request(asked, { signal, ...rest }) {
      const stop = AbortSignal.any(signal === undefined ? [leaving.signal] : [signal, leaving.signal]);
      return managed.request(asked, { ...rest, signal: stop });
    },
  };
  return { server, tell, leave: () => leaving.abort(new Error("it was closed")) };
}
