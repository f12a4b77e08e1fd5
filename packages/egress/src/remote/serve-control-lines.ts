import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ControlAnswer, ControlRequest, Numbered } from "./control-messages.ts";
import { createEgressProxy, type EgressProxy } from "../proxy/egress-proxy.ts";
import type { EgressDoor } from "../proxy/session-proxy.ts";

/** Does what the lines on `input` say, answers each on `output`, and closes everything when they end. */
export async function serveControlLines(input: Readable, output: Writable): Promise<void> {
  const desk: Desk = { proxy: undefined, doors: new Map() };
  const answer = (line: ControlAnswer): void => void output.write(`${JSON.stringify(line)}\n`);
  for await (const line of createInterface({ input })) {
    const request = JSON.parse(line) as ControlRequest;
    // One after the other: a policy is in force before the next request is looked at.
    answer(await fulfil(desk, request).catch((error: Error) => toFailure(request, error)));
  }
  await desk.proxy?.close();
}

type Desk = { proxy: EgressProxy | undefined; readonly doors: Map<string, EgressDoor> };

async function fulfil(desk: Desk, request: ControlRequest): Promise<ControlAnswer> {
  if ("configure" in request) {
    const { id, ...options } = request.configure;
    desk.proxy = createEgressProxy(options);
    return { configured: { id } };
  }
  if ("open" in request) {
    const { id, session, socketPath } = request.open;
    if (!desk.proxy) throw new Error("The proxy is not configured yet.");
    desk.doors.set(session, await desk.proxy.open({ socketPath }));
    return { opened: { id } };
  }
  if ("policy" in request) {
    await findDoor(desk, request.policy.session).setPolicy(request.policy.policy);
    return { applied: { id: request.policy.id } };
  }
  if ("take" in request) {
    return { taken: { id: request.take.id, report: await findDoor(desk, request.take.session).take() } };
  }
  await findDoor(desk, request.close.session).close();
  desk.doors.delete(request.close.session);
  return { closed: { id: request.close.id } };
}

function findDoor({ doors }: Desk, session: string): EgressDoor {
  const door = doors.get(session);
  if (!door) throw new Error(`There is no door for "${session}".`);
  return door;
}

function toFailure(request: ControlRequest, { message }: Error): ControlAnswer {
  const [{ id }] = Object.values(request) as [Numbered];
  return { failed: { id, message } };
}
