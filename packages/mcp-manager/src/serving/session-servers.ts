import { rmSync } from "node:fs";
import type { McpServerReport, RunnerSession } from "@budgie/core";
import type { McpCall } from "@budgie/core/runs";
import type { UsableServer } from "../agents/find-servers.ts";
import { findServerEgress } from "../agents/server-place.ts";
import { connectAt } from "../connections/connect-at.ts";
import { createServerSandboxes } from "../connections/server-sandboxes.ts";
import { createMcpEndpoint } from "../endpoint/mcp-endpoint.ts";
import { createMcpManager } from "../mcp-manager.ts";
import type { ServerEvent } from "../server/server-state.ts";
import { findShared } from "./find-shared.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";
import type { Reachable } from "./write-shown-file.ts";

/** The MCP servers of one session. They start at once, and end with the session. */
export type SessionServers = {
  /** By name */
  readonly reachable: ReadonlyMap<string, Reachable>;
  /** Tells whether they still match the usable servers. */
  readonly isFor: (usable: readonly UsableServer[]) => boolean;
  /** Returns the state of each server, with the calls since the last report. */
  readonly report: () => readonly McpServerReport[];
  /** Ends the servers early. The reason becomes the error of each. */
  readonly refuse: (reason: string) => void;
  /** Reports the calls that nobody followed, and further events and calls, until the returned function is called. */
  readonly follow: (listener: ServerListener) => () => void;
  /** Registers a file with their addresses, which is removed with them. */
  readonly shows: (file: string) => void;
  readonly onEnd: (listener: () => void) => void;
  readonly close: () => Promise<void>;
};

type ServerListener = {
  readonly onEvent: (event: ServerEvent) => void;
  readonly onCall: ((call: McpCall) => void) | undefined;
};

/** Starts the servers of a session whose processes can reach budgie. */
export function openSessionServers(
  session: Pick<RunnerSession, "serve">,
  usable: readonly UsableServer[],
  options: ServeAgentOptions,
): SessionServers {
  const { allPending, config, runner } = options;
  const { version } = config;
  const sandboxes = createServerSandboxes(async () => runner, config.stateDir);
  const listeners = new Set<ServerListener>();
  const files = new Set<string>();
  const missed: McpCall[] = [];
  let reported: readonly Counts[] = [];
  let end = (): void => undefined;
  const manager = createMcpManager({
    servers: usable,
    connect: connectAt(usable, { config, sandboxes }),
    client: { name: "budgie", version },
    shared(allowed) {
      const one = usable.find(({ server }) => server.name === allowed.server.name);
      return one?.shared === true ? findShared(one, options) : undefined;
    },
    onEvent(event) {
      if (event.kind === "ready") endpoint.changed(event.server, "tools");
      if (event.kind === "list-changed") endpoint.changed(event.server, event.list);
      for (const listener of listeners) listener.onEvent(event);
    },
  });
  const endpoint = createMcpEndpoint({
    manager,
    servers: usable.map(({ server }) => server.name),
    version,
    allPending,
    onCall(call) {
      // An agent that waits for its next turn may still call tools.
      if (listeners.size === 0 && missed.length < MOST_MISSED) missed.push(call);
      for (const listener of listeners) listener.onCall?.(call);
    },
  });

  let refusal: string | undefined;
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll());

  async function closeAll(): Promise<void> {
    end();
    for (const file of files) rmSync(file, { force: true });
    await stop();
  }

  async function stopAll(): Promise<void> {
    await endpoint[Symbol.asyncDispose]();
    await manager[Symbol.asyncDispose]();
    await sandboxes[Symbol.asyncDispose]();
  }

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeAll());
  const address = session.serve?.({ answer: endpoint.answer, [Symbol.asyncDispose]: close }) ?? "";
  void manager.start();
  return {
    reachable: new Map(
      usable.map(({ server: { name, timeoutMs } }) => [name, { url: address + endpoint.pathOf(name), timeoutMs }]),
    ),
    isFor: (others) => closing === undefined && JSON.stringify(others) === JSON.stringify(usable),
    report() {
      const [now, before] = [manager.list(), reported];
      reported = now;
      return now.map((status, index) => ({
        ...status,
        ...(refusal === undefined ? {} : { state: "error", tools: 0, error: refusal }),
        ...countNew(status, before[index]),
        ...placeFacts(usable[index]),
      }));
    },
    refuse(reason) {
      refusal = reason;
      // `close` awaits it, and reports a failure.
      stop().catch(() => undefined);
    },
    follow(listener) {
      listeners.add(listener);
      for (const call of missed.splice(0)) listener.onCall?.(call);
      return () => void listeners.delete(listener);
    },
    shows: (file) => void files.add(file),
    onEnd: (listener) => void (end = listener),
    close,
  };
}

/** Returns the part of a server's report that its place decides. */
export function placeFacts(one: UsableServer | undefined): Pick<McpServerReport, "egress" | "run"> {
  if (one === undefined) return { run: "host", egress: { mode: "host", hosts: [] } };
  return { run: one.place.run, egress: findServerEgress(one.server, one.place) };
}

// As many as the log of a run keeps.
const MOST_MISSED = 200;

type Counts = Pick<McpServerReport, "calls" | "failed">;

function countNew(now: Counts, before: Counts = { calls: 0, failed: 0 }): Counts {
  return { calls: now.calls - before.calls, failed: now.failed - before.failed };
}
