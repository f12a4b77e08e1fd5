import type { IncomingMessage } from "node:http";
import { finished } from "node:stream";

/** Converts Node's message into a response of `fetch`. */
export function toResponse(incoming: IncomingMessage, url: string): Response {
  const { headersDistinct, statusCode: status = 0, statusMessage: statusText = "" } = incoming;
  if (status < 200 || status > 599) {
    incoming.destroy();
    throw new TypeError(`The server answered with the status ${status}.`);
  }
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const isEmpty = BODILESS.has(status);
  if (isEmpty) incoming.resume();
  const response = new Response(isEmpty ? null : toBody(incoming), { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Returns a stream that reads no faster than its reader. Node's own conversion throws if a stream is cancelled while it reads. */
function toBody(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let isOpen = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on("data", (chunk: Buffer) => {
        if (!isOpen) return;
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      finished(incoming, (error) => {
        if (!isOpen) return;
        isOpen = false;
        if (error) controller.error(error);
        else controller.close();
      });
    },
    pull: () => void incoming.resume(),
    cancel() {
      isOpen = false;
      incoming.destroy();
    },
  });
}
