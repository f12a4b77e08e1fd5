import type { Duplex } from "node:stream";
import type { BudgieError } from "@budgie/core";
import { CLOCK, createWire, pause, type Clock, type Wire, type WireStream } from "../wire/index.ts";

/** The way to a Pod. */
export type PodConnection = {
  /** Opens a bridge to the sidecar */
  readonly openBridge: (signal: AbortSignal) => Promise<Duplex>;
  /** Takes a stream that the Pod opened */
  readonly onStream: (stream: WireStream) => void;
  /** False once nothing may be sent to the Pod, since another budgie may take it over; default: always true */
  readonly mayConnect?: () => boolean;
  /** Judges why a bridge could not be opened: resolves to the reason to give up, or to `undefined` to try again; default: always tries again */
  readonly findEnd?: (failure: unknown) => Promise<BudgieError | undefined>;
  readonly clock?: Clock;
};

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Creates a wire to a Pod, and opens a bridge again whenever one breaks, until the wire ends. Rejects if the first bridge cannot be opened.
 */
export async function keepConnected(connection: PodConnection, signal: AbortSignal): Promise<Wire> {
  const { clock = CLOCK, findEnd = async () => undefined, mayConnect = () => true, onStream, openBridge } = connection;
  const over = new AbortController();
  let pauseMs = FIRST_PAUSE_MS;
  let attachedAt = clock.now();
  const wire = createWire({ side: "budgie", onStream, clock, onDetached: () => void reconnect() });

  async function reconnect(): Promise<void> {
    // Bridges that break at once must not follow each other without a pause.
    if (clock.now() - attachedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
    for (let isConnected = false; !isConnected && !over.signal.aborted;) {
      await pause(pauseMs, { clock, signal: over.signal });
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      isConnected = mayConnect() && (await connect());
    }
  }

  /** Returns false if no bridge could be opened: the cluster may answer again before the wire gives up. */
  async function connect(): Promise<boolean> {
    try {
      attach(await openBridge(over.signal));
      return true;
    } catch (error) {
      const end = await findEnd(error).catch(() => undefined);
      if (end !== undefined) wire.close(end);
      return false;
    }
  }

  function attach(bridge: Duplex): void {
    attachedAt = clock.now();
    wire.attach(bridge);
  }

  void wire.ended.then(() => over.abort());
  try {
    attach(await openBridge(signal));
    return wire;
  } catch (error) {
    wire.close();
    throw error;
  }
}
