import type { IncomingMessage } from "node:http";
import { createRequestIntake, readBody, type ByteBudget } from "@budgie/core/bounds";
import type { Refusal } from "./send-json.ts";
import type { HttpLimits } from "./http-limits.ts";

/** The requests of one session. */
export type Inbox = {
  /** The bytes of the requests that have no answer yet */
  readonly pending: ByteBudget;
  /** Reads the message of a request within the limits, and in its turn. */
  readonly read: (request: IncomingMessage) => Promise<Message | { readonly refusal: Refusal }>;
};

type Message = {
  readonly body: unknown;
  /** Gives its bytes back, once its answer was sent or it has none. */
  readonly release: () => void;
};

/** Creates the inbox of a session. */
export function createInbox(limits: HttpLimits, pending: ByteBudget): Inbox {
  const parse = createRequestIntake();
  return {
    pending,
    async read(request) {
      const bytes = await readBody(request, { bytes: limits.bodyBytes, pending });
      if (!Buffer.isBuffer(bytes)) return { refusal: bytes === "bytes" ? tooLarge(limits) : tooMuch(limits) };
      const { length } = bytes;
      try {
        return { body: await parse(bytes), release: () => pending.giveBack(length) };
      } catch (error) {
        pending.giveBack(length);
        return { refusal: error instanceof RangeError ? tooComplex(error) : NO_JSON };
      }
    },
  };
}

const NO_JSON: Refusal = { status: 400, code: -32_700, message: "Parse error: the request is not JSON." };

function tooLarge({ bodyBytes }: HttpLimits): Refusal {
  return { status: 413, message: `A request must not be larger than ${bodyBytes} bytes.` };
}

function tooComplex({ message }: RangeError): Refusal {
  return { status: 413, message: `A request must not have ${message}.` };
}

function tooMuch({ allPendingBytes, pendingBytes }: HttpLimits): Refusal {
  return {
    status: 429,
    message:
      `More than ${pendingBytes} bytes of requests of this session, or ${allPendingBytes} of all, are pending. ` +
      "Wait for an answer, or cancel a request.",
  };
}
