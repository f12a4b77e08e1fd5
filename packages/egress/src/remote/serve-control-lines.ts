import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ControlAnswer, ControlRequest, Numbered } from "./control-request.ts";
import { createEgressProxy, type EgressProxy } from "../proxy/egress-proxy.ts";
import type { SessionProxy } from "../proxy/session-proxy.ts";

/** Handles the requests on `input` line by line, answers each on `output`, and closes the proxy when `input` ends. */
export async function serveControlLines(input: Readable, output: Writable): Promise<void> {
  const state: State = { proxy: undefined, sessions: new Map() };
  const answer = (line: ControlAnswer): void => void output.write(`${JSON.stringify(line)}\n`);
  for await (const line of createInterface({ input })) {
    const request = JSON.parse(line) as ControlRequest;
    // One at a time, so that a policy is in force before the next request is read.
    answer(await handle(state, request).catch((error: Error) => failureAnswer(request, error)));
  }
  await state.proxy?.close();
}

type State = { proxy: EgressProxy | undefined; readonly sessions: Map<string, SessionProxy> };

async function handle(state: State, request: ControlRequest): Promise<ControlAnswer> {
  if ("configure" in request) {
    const { id, ...options } = request.configure;
    state.proxy = createEgressProxy(options);
    return { configured: { id } };
  }
  if ("open" in request) {
    const { id, session, socketPath } = request.open;
    if (!state.proxy) throw new Error("The proxy is not configured yet.");
    state.sessions.set(session, await state.proxy.open({ socketPath }));
    return { opened: { id } };
  }
  if ("policy" in request) {
    await findSession(state, request.policy.session).setPolicy(request.policy.policy);
    return { applied: { id: request.policy.id } };
  }
  if ("take" in request) {
    return { taken: { id: request.take.id, report: await findSession(state, request.take.session).take() } };
  }
  await findSession(state, request.close.session).close();
  state.sessions.delete(request.close.session);
  return { closed: { id: request.close.id } };
}

function findSession({ sessions }: State, id: string): SessionProxy {
  const session = sessions.get(id);
  if (!session) throw new Error(`No session "${id}" is open.`);
  return session;
}

function failureAnswer(request: ControlRequest, { message }: Error): ControlAnswer {
  const [{ id }] = Object.values(request) as [Numbered];
  return { failed: { id, message } };
}
