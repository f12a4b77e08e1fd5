import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The reason why a request was not forwarded, in words for the program that made it. */
export type Refusal = {
  readonly status: 400 | 403 | 502 | 503;
  /** Host and port in printable form */
  readonly target: string;
  readonly why: string;
  /** Advice for the user; only for refusals by policy */
  readonly remedy?: string;
};

const REASONS = {
  400: "Bad Request",
  403: "Refused by budgie egress policy",
  502: "Bad Gateway",
  503: "Too Many Connections",
} as const;

const MAX_PRINTED = 300;

/** Answers a request with a refusal. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const body = refusalText(refusal);
  response.writeHead(refusal.status, REASONS[refusal.status], {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  response.end(body);
}

/** Answers a CONNECT with a refusal, and closes the connection. */
export function hangUp(socket: Socket, refusal: Refusal): void {
  const body = refusalText(refusal);
  socket.write(
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}

/** Replaces characters that are not printable, and truncates to the length of a host and port. */
export function printableText(text: string): string {
  const printable = text.replace(/[^\x21-\x7e]/g, "?");
  return printable.length > MAX_PRINTED ? `${printable.slice(0, MAX_PRINTED)}...` : printable;
}

function refusalText({ remedy, status, target, why }: Refusal): string {
  if (status === 403) {
    return (
      `budgie's egress policy refused ${target}: ${why}.\n` +
      "This is policy, not a fault: trying again or another way will not help. Tell the user which host was refused.\n" +
      (remedy === undefined ? "" : `${remedy}\n`)
    );
  }
  return `budgie's egress proxy could not pass on the request for ${target}: ${why}.\n`;
}
