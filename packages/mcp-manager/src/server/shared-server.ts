import { createManagedServer, type ManagedServer, type ManagedServerOptions } from "./managed-server.ts";
import type { ServerState } from "./server-state.ts";

/** One instance of a server that several managers use. It starts with the first that needs it, and ends with its own disposal. */
export type SharedServer = AsyncDisposable & {
  readonly state: () => ServerState;
  /** Returns the server as one manager has it, with tools, events and an end of its own. */
  readonly join: (user: ServerUser) => ManagedServer;
};

type ServerUser = Pick<ManagedServerOptions, "onEvent" | "select">;

/** Creates a server that is not started yet. */
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
      const one = toUsed(managed, user);
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

/** Returns a server as one of its users has it. */
function toUsed(managed: ManagedServer, { onEvent, select }: ServerUser) {
  const leaving = new AbortController();
  const tools = (): ReturnType<ManagedServer["tools"]> => select(managed.tools());
  let isStarted = false;

  const tell: ManagedServerOptions["onEvent"] = (event) => {
    if (event.kind === "ready") return onEvent({ ...event, tools: tools().length });
    if (event.kind !== "words-changed") return onEvent(event);
    const changed = event.tools.filter((name) => tools().some((tool) => tool.name === name));
    if (changed.length > 0) onEvent({ ...event, tools: changed });
  };

  async function start(): Promise<void> {
    // An earlier user has heard that it is ready.
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
