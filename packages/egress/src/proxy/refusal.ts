import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Why a request was not passed on, in words for the program that made it. */
export type Refusal = {
  readonly status: 400 | 403 | 502 | 503;
  /** Host and port as they may be shown */
  readonly target: string;
  readonly why: string;
  /** What the user can do; left out where it is no matter of policy */
  readonly remedy?: string;
};

const REASONS = {
  400: "Bad Request",
  403: "Refused by budgie egress policy",
  502: "Bad Gateway",
  503: "Too Many Connections",
} as const;

const MAX_SHOWN = 300;

/** Answers a request with a refusal. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const body = toText(refusal);
  response.writeHead(refusal.status, REASONS[refusal.status], {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  response.end(body);
}

/** Answers a CONNECT with a refusal, and hangs up. */
export function hangUp(socket: Socket, refusal: Refusal): void {
  const body = toText(refusal);
  socket.write(
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

/** What a program sent, fit to be shown: printable, and not longer than a name and its port are. */
export function toShown(text: string): string {
  const shown = text.replace(/[^\x21-\x7e]/g, "?");
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}...` : shown;
}

function toText({ remedy, status, target, why }: Refusal): string {
  if (status === 403) {
    return (
      `budgie's egress policy refused ${target}: ${why}.\n` +
      "This is policy, not a fault: trying again or another way will not help. Tell the user which host was refused.\n" +
      (remedy === undefined ? "" : `${remedy}\n`)
    );
  }
  return `budgie's egress proxy could not pass on the request for ${target}: ${why}.\n`;
}
