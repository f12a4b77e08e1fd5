import type { Readable, Writable } from "node:stream";
import { createLineReader } from "@budgie/core/bounds";
import { BudgieError } from "@budgie/core/errors";
import type { ControlAnswer, Numbered } from "./control-request.ts";
import type { EgressProxy, EgressProxyOptions } from "../proxy/egress-proxy.ts";
import type { SessionProxy } from "../proxy/session-proxy.ts";

/** The standard streams of a process that runs the proxy program. */
export type ProxyStreams = { readonly stdin: Writable; readonly stdout: Readable };

/** Creates the proxy in a process of its own; socket paths are as that process sees them. */
export async function createRemoteEgressProxy(
  streams: ProxyStreams,
  options: Omit<EgressProxyOptions, "lookup"> = {},
): Promise<EgressProxy> {
  const channel = createChannel(streams);
  let sessions = 0;
  await channel.ask("configure", options);
  return {
    open: async ({ socketPath }) => {
      sessions += 1;
      const session = `${sessions}`;
      await channel.ask("open", { session, socketPath });
      return createRemoteSession(channel, session);
    },
    close: channel.close,
  };
}

// A report names at most some hundred hosts.
const LONGEST_ANSWER_BYTES = 2 ** 20;

type Channel = {
  readonly ask: (what: string, fields: object) => Promise<ControlAnswer>;
  readonly close: () => Promise<void>;
};

function createRemoteSession({ ask }: Channel, session: string): SessionProxy {
  return {
    setPolicy: async (policy) => void (await ask("policy", { session, policy })),
    take: async () => {
      const answer = await ask("take", { session });
      if (!("taken" in answer)) throw proxyError("its answer does not match the request");
      return answer.taken.report;
    },
    close: async () => void (await ask("close", { session })),
  };
}

type PendingRequest = { readonly resolve: (answer: ControlAnswer) => void; readonly reject: (error: Error) => void };

function createChannel({ stdin, stdout }: ProxyStreams): Channel {
  const pending = new Map<number, PendingRequest>();
  let last = 0;
  let ended = false;
  const end = (): void => {
    ended = true;
    for (const { reject } of pending.values()) reject(proxyError("its process has ended"));
    pending.clear();
  };
  const read = createLineReader({
    maxBytes: LONGEST_ANSWER_BYTES,
    onLine: (line) => settle(pending, line.toString("utf8")),
    onTooLong: end,
  });
  const outputEnded = new Promise<void>((resolve) => void stdout.once("close", resolve).once("end", resolve));
  stdout.on("data", read).on("error", end);
  void outputEnded.then(end);
  stdin.on("error", end);
  return {
    ask: (what, fields) =>
      new Promise((resolve, reject) => {
        if (ended) throw proxyError("its process has ended");
        last += 1;
        pending.set(last, { resolve, reject });
        stdin.write(`${JSON.stringify({ [what]: { id: last, ...fields } })}\n`);
      }),
    close: async () => {
      stdin.end();
      if (!ended) await outputEnded;
    },
  };
}

function settle(pending: Map<number, PendingRequest>, line: string): void {
  const answer = parseAnswer(line);
  if (!answer) return;
  const [{ id }] = Object.values(answer) as [Numbered];
  const request = pending.get(id);
  pending.delete(id);
  if ("failed" in answer) request?.reject(proxyError(answer.failed.message));
  else request?.resolve(answer);
}

// Container runtimes may print lines of their own to the stream.
function parseAnswer(line: string): ControlAnswer | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const [field] = value !== null && typeof value === "object" ? Object.values(value) : [];
    return typeof field?.id === "number" ? (value as ControlAnswer) : undefined;
  } catch {
    return undefined;
  }
}

function proxyError(why: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The egress proxy cannot be used: ${why}. Call again; "budgie doctor" says more.`,
  );
}
