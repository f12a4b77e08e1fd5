import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import { CancelledNotificationSchema, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Host } from "../host.ts";
import type { ClientTransport, Fate } from "./client-transport.ts";

type Followed = { readonly tell: (fate: Fate) => void; isDropped: boolean };

// A cancellation that crosses with its response comes soon after.
const MOST_FOLLOWED = 100;

/** Creates the transport over stdin and stdout; nothing is read before it is started. */
export function createStdioTransport({ stdin, stdout }: Pick<Host, "stdin" | "stdout">): ClientTransport {
  const followed = new Map<RequestId, Followed>();
  const transport = new StdioServerTransport(stdin, stdout);

  // The protocol calls this first, and then its own.
  transport.onmessage = (message) => {
    const { data } = CancelledNotificationSchema.safeParse(message);
    const response = data?.params.requestId === undefined ? undefined : followed.get(data.params.requestId);
    if (response === undefined || response.isDropped) return;
    response.isDropped = true;
    response.tell("dropped");
  };
  // The transport's own resolves as soon as the message waits in memory.
  transport.send = (message) =>
    new Promise((resolve) => {
      const response = "result" in message ? followed.get(message.id) : undefined;
      stdout.write(serializeMessage(message), (error) => {
        // Who listens to stdout hears of a client that is gone.
        if (!error && response?.isDropped === false) response.tell("delivered");
        resolve();
      });
    });

  return Object.assign(transport, {
    isFull: () => stdout.writableNeedDrain,
    follow(request: RequestId, tell: Followed["tell"]) {
      followed.set(request, { tell, isDropped: false });
      const [oldest] = followed.keys();
      if (followed.size > MOST_FOLLOWED && oldest !== undefined) followed.delete(oldest);
    },
  });
}
