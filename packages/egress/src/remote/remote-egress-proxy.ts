import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { BudgieError } from "@budgie/core/errors";
import type { ControlAnswer, Numbered } from "./control-messages.ts";
import type { EgressProxy, EgressProxyOptions } from "../proxy/egress-proxy.ts";
import type { EgressDoor } from "../proxy/session-proxy.ts";

/** The standard streams of a process that runs the proxy program. */
export type ProxyStreams = { readonly stdin: Writable; readonly stdout: Readable };

/** The proxy in a process of its own; paths of sockets are as that process sees them. */
export async function createRemoteEgressProxy(
  streams: ProxyStreams,
  options: Omit<EgressProxyOptions, "lookup"> = {},
): Promise<EgressProxy> {
  const line = createLine(streams);
  let sessions = 0;
  await line.ask("configure", options);
  return {
    open: async ({ socketPath }) => {
      sessions += 1;
      const session = `${sessions}`;
      await line.ask("open", { session, socketPath });
      return createRemoteDoor(line, session);
    },
    close: line.close,
  };
}

type Line = {
  readonly ask: (what: string, fields: object) => Promise<ControlAnswer>;
  readonly close: () => Promise<void>;
};

function createRemoteDoor({ ask }: Line, session: string): EgressDoor {
  return {
    setPolicy: async (policy) => void (await ask("policy", { session, policy })),
    take: async () => {
      const answer = await ask("take", { session });
      if (!("taken" in answer)) throw toGone("it answered something else than it was asked");
      return answer.taken.report;
    },
    close: async () => void (await ask("close", { session })),
  };
}

type Waiting = { readonly resolve: (answer: ControlAnswer) => void; readonly reject: (error: Error) => void };

function createLine({ stdin, stdout }: ProxyStreams): Line {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let gone = false;
  const hangUp = (): void => {
    gone = true;
    for (const { reject } of waiting.values()) reject(toGone("its process has ended"));
    waiting.clear();
  };
  const lines = createInterface({ input: stdout });
  const ended = new Promise<void>((resolve) => void lines.once("close", resolve));
  lines.on("line", (line) => settle(waiting, line)).once("close", hangUp);
  stdin.on("error", hangUp);
  stdout.on("error", hangUp);
  return {
    ask: (what, fields) =>
      new Promise((resolve, reject) => {
        if (gone) throw toGone("its process has ended");
        last += 1;
        waiting.set(last, { resolve, reject });
        stdin.write(`${JSON.stringify({ [what]: { id: last, ...fields } })}\n`);
      }),
    close: async () => {
      stdin.end();
      if (!gone) await ended;
    },
  };
}

function settle(waiting: Map<number, Waiting>, line: string): void {
  const answer = parseAnswer(line);
  if (!answer) return;
  const [{ id }] = Object.values(answer) as [Numbered];
  const asked = waiting.get(id);
  waiting.delete(id);
  if ("failed" in answer) asked?.reject(toGone(answer.failed.message));
  else asked?.resolve(answer);
}

// A runtime may print words of its own on the way.
function parseAnswer(line: string): ControlAnswer | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const [field] = value !== null && typeof value === "object" ? Object.values(value) : [];
    return typeof field?.id === "number" ? (value as ControlAnswer) : undefined;
  } catch {
    return undefined;
  }
}

function toGone(why: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The egress proxy cannot be used: ${why}. Call again; "budgie doctor" says more.`,
  );
}
