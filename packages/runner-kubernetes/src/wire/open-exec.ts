import type { SecureContextOptions } from "node:tls";
import { Duplex } from "node:stream";
import WebSocket from "ws";
import { BudgieError } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";
import { escapeForTerminal } from "@budgie/core/text";
import { CLOCK, type Clock } from "./clock.ts";
import { wireError } from "./wire-error.ts";

/** The command to run in a container of a Pod, and the way to its API server. */
export type ExecOptions = {
  /** The server of the kubeconfig, such as `https://10.0.0.1:6443` */
  readonly server: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Constant words: they reach the cluster's audit log */
  readonly command: readonly string[];
  /** The credentials of the kubeconfig */
  readonly login?: SecureContextOptions & {
    readonly headers?: Readonly<Record<string, string>>;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
  /** Hears the cluster's own words about the end of the command, which may be wrong */
  readonly onStatus?: (text: string) => void;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
};

const PROTOCOL = "v5.channel.k8s.io";
const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
const MOST_MESSAGE_BYTES = 1024 * 1024;
const MOST_STATUS_BYTES = 4_096;
const HANDSHAKE_MS = 30_000;
const PING_MS = 5_000;
const DEAD_MS = 30_000;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Runs a command in a container of a Pod, and resolves to its stdin and stdout. Their end tells nothing of the command's: a connection that
 * breaks looks the same. Rejects if the cluster refuses.
 */
export async function openExec(options: ExecOptions): Promise<Duplex> {
  const { clock = CLOCK, login = {}, onStatus = () => undefined, signal } = options;
  if (login.rejectUnauthorized === false) throw insecureError("with insecure-skip-tls-verify");
  const socket = new WebSocket(toUrl(options), [PROTOCOL], {
    ...login,
    rejectUnauthorized: true,
    perMessageDeflate: false,
    maxPayload: MOST_MESSAGE_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
  });
  const stop = (): void => socket.terminate();
  signal?.addEventListener("abort", stop);
  try {
    return await new Promise<Duplex>((resolve, reject) => {
      if (signal?.aborted) stop();
      socket.on("error", (error) => reject(signal?.aborted ? cancelledError() : lostError(error)));
      socket.once("unexpected-response", (_request, { statusCode = 0 }) => {
        reject(refusedError(statusCode));
        socket.terminate();
      });
      // Its first messages may follow at once.
      socket.once("open", () => resolve(toDuplex(socket, { clock, onStatus })));
    });
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function toUrl({ command, container, namespace, pod, server }: ExecOptions): URL {
  const url = new URL(server);
  if (url.protocol !== "https:" && !LOOPBACK.includes(url.hostname)) throw insecureError("without TLS");
  const names = [namespace, pod].map(encodeURIComponent);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/api/v1/namespaces/${names[0]}/pods/${names[1]}/exec`;
  url.search = new URLSearchParams([
    ["container", container],
    ["stdin", "true"],
    ["stdout", "true"],
    ["stderr", "true"],
    ...command.map((word): [string, string] => ["command", word]),
  ]).toString();
  return url;
}

type Listeners = { readonly clock: Clock; readonly onStatus: (text: string) => void };

function toDuplex(socket: WebSocket, { clock, onStatus }: Listeners): Duplex {
  let heardAt = clock.now();
  const hear = (): void => void (heardAt = clock.now());
  const stopPinging = clock.every(PING_MS, () => {
    // A reader that waits hears no answer to a ping.
    if (socket.isPaused) return hear();
    if (clock.now() - heardAt >= DEAD_MS) bytes.destroy(silentError());
    else socket.ping();
  });
  const send = (channel: number, payload: Buffer, done: (error?: Error) => void): void =>
    socket.send(Buffer.concat([Buffer.of(channel), payload]), (error) => done(error ? lostError(error) : undefined));
  const bytes = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) => send(CHANNELS.stdin, chunk, done),
    final: (done) => send(CHANNELS.close, Buffer.of(CHANNELS.stdin), done),
    destroy(error, done) {
      stopPinging();
      socket.terminate();
      done(error);
    },
  });
  // It may fail before anybody listens, who then finds it destroyed.
  bytes.on("error", () => undefined);
  socket.on("error", (error) => bytes.destroy(lostError(error)));
  socket.on("pong", hear);
  socket.on("ping", hear);
  socket.on("message", (message: Buffer, isBinary) => {
    hear();
    const [channel] = message;
    const payload = message.subarray(1);
    if (!isBinary || !isKnown(channel)) bytes.destroy(wireError("it sent a message of no known channel"));
    else if (channel === CHANNELS.status) onStatus(readStatus(payload));
    // The cluster begins with an empty message.
    else if (channel === CHANNELS.stdout && payload.length > 0 && !bytes.push(payload)) socket.pause();
  });
  socket.once("close", () => bytes.push(null));
  bytes.once("end", () => bytes.destroy());
  return bytes;
}

function isKnown(channel: number | undefined): boolean {
  return channel === CHANNELS.stdout || channel === CHANNELS.stderr || channel === CHANNELS.status;
}

/** Returns the words of a status, within bounds. */
function readStatus(payload: Buffer): string {
  if (payload.length > MOST_STATUS_BYTES) return "a status of too many bytes";
  try {
    const status = parseBoundedJson(payload, { values: 100, depth: 8 }) as { readonly message?: unknown } | null;
    return typeof status?.message === "string" ? escapeForTerminal(status.message).slice(0, 500) : "ended";
  } catch {
    return "a status that is not JSON";
  }
}

function insecureError(how: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The kubeconfig reaches its cluster ${how}, so that anybody could answer in its place. Give it the cluster's certificate authority.`,
  );
}

/** Returns the status with which a cluster refused an exec; `undefined` if it failed otherwise. */
export function findRefusedStatus(error: unknown): number | undefined {
  const { status } = Object(error instanceof BudgieError ? error.cause : undefined) as { readonly status?: unknown };
  return typeof status === "number" ? status : undefined;
}

function refusedError(status: number): BudgieError {
  const options = { cause: { status } };
  if (status === 401 || status === 403) {
    return new BudgieError(
      "CONFIG_INVALID",
      `The cluster refused to run a command in the Pod (${status}). Allow the verbs "get" and "create" of "pods/exec" in its namespace.`,
      options,
    );
  }
  if (status === 404) return new BudgieError("SESSION_UNUSABLE", "The Pod is gone. Begin a new session.", options);
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster did not run a command in the Pod (${status}). Try again.`,
    options,
  );
}

function lostError(cause: Error & { readonly code?: string }): BudgieError {
  if (cause instanceof BudgieError) return cause;
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The connection to the Pod failed (${cause.code ?? cause.name}). Check the cluster, which needs Kubernetes 1.30 or later.`,
    { cause },
  );
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster did not respond for ${DEAD_MS / 1_000} seconds. Try again.`,
  );
}

function cancelledError(): BudgieError {
  return new BudgieError("CANCELLED", "The connection to the Pod was cancelled.");
}
