import { createWire, type WireOptions } from "../../src/wire/wire.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";
import { connectPair } from "./connect-pair.ts";
import { createFakeClock } from "./fake-clock.ts";

/** Creates both ends of a wire, connected. The streams that budgie opens arrive in `opened`. */
export function connectWires(options: Partial<WireOptions> = {}) {
  const clock = createFakeClock();
  const opened: WireStream[] = [];
  const budgie = createWire({ side: "budgie", onStream: () => undefined, clock, ...options });
  const pod = createWire({ side: "pod", onStream: (stream) => opened.push(stream), clock });
  const connect = () => {
    const pair = connectPair();
    budgie.attach(pair.budgie);
    pod.attach(pair.pod);
    return pair;
  };
  return { budgie, pod, clock, opened, connect, pair: connect() };
}

/** Lets the event loop turn so many times. */
export async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
