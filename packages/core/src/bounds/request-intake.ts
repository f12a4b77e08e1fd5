import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { parseRequest } from "./parse-request.ts";
import { createRate, type RateLimit } from "./rate.ts";

/** Parses a client's next message of MCP. Rejects as `parseRequest` throws. */
export type RequestIntake = (json: Uint8Array) => Promise<unknown>;

/** The rates of a client's messages: on average, and in a burst. */
export type IntakeRates = { readonly bytes: RateLimit; readonly values: RateLimit };

// About a tenth of the event loop's time, with the SDK's checks.
const RATES: IntakeRates = {
  bytes: { perSecond: 8 * 2 ** 20, burst: 16 * 2 ** 20 },
  values: { perSecond: 20_000, burst: 40_000 },
};

/**
 * Creates the intake of a client, which parses its messages one by one, each in a turn of the event loop of its own: Node handles all
 * connections that have data before it does anything else.
 */
export function createRequestIntake({ bytes, values }: IntakeRates = RATES): RequestIntake {
  const [byteRate, valueRate] = [createRate(bytes), createRate(values)];
  let last: Promise<unknown> = Promise.resolve();
  let waitMs = 0;

  async function parse(json: Uint8Array): Promise<unknown> {
    await (waitMs < 1 ? nextTurn() : sleep(waitMs));
    waitMs = byteRate.take(json.length);
    const parsed = parseRequest(json);
    waitMs = Math.max(waitMs, valueRate.take(parsed.values));
    return parsed.value;
  }

  return (json) => {
    const parsed = last.then(async () => parse(json));
    last = parsed.catch(() => undefined);
    return parsed;
  };
}
