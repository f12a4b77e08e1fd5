import { createSessionId, type Runner, type RunnerSession } from "@budgie/core";
import type { SandboxPlace } from "../agents/server-place.ts";
import type { ProcessServer } from "../config/mcp-server.ts";
import type { Connect } from "../transport/connect-on-host.ts";
import { createProcessTransport } from "../transport/process-transport.ts";
import { startInSandbox } from "./start-in-sandbox.ts";

/** The containers of servers, each in a session of its own. Disposal removes them with all that they wrote. */
export type ServerSandboxes = AsyncDisposable & {
  /** Creates the transport to a server. Its container starts with the transport. A second start finds the home of the first. */
  readonly connect: (server: ProcessServer & { readonly name: string }, options: SandboxOptions) => Transport;
};

type SandboxOptions = { readonly place: SandboxPlace; readonly log: (line: string) => void };

type Transport = ReturnType<Connect>;

/** Creates the containers of servers in a runner, which opens with the first container. */
export function createServerSandboxes(openRunner: () => Promise<Runner>, stateDir: string): ServerSandboxes {
  const sessions = new Map<string, Promise<RunnerSession>>();

  function open(name: string): Promise<RunnerSession> {
    const openHome = (runner: Runner) => runner.openSession(createSessionId(), { isKept: false });
    const session = sessions.get(name) ?? openRunner().then(openHome);
    sessions.set(name, session);
    // After a failure, the next start tries again.
    session.catch(() => sessions.delete(name));
    return session;
  }

  return {
    connect: (server, { log, place }) =>
      createProcessTransport(async (signal) => {
        const session = await open(server.name);
        return startInSandbox(server, { place, session, stateDir, signal, log });
      }, log),
    async [Symbol.asyncDispose]() {
      const opened = await Promise.allSettled(sessions.values());
      const removed = opened.flatMap((session) => (session.status === "fulfilled" ? [session.value.remove()] : []));
      await Promise.all(removed);
    },
  };
}
