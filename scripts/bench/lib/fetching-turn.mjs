import { startMeasuringTurn } from "./measuring-turn.mjs";

// Node is the only program in the demo image that speaks TLS.
const CLIENT = new URL("tls-client.cjs", import.meta.url);

/** Starts a turn with a policy that requests pages from a server on command, until it is stopped. */
export async function startFetchingTurn({ server, ...rest }) {
  const turn = await startMeasuringTurn({ ...rest, program: CLIENT, given: server });
  return {
    /** Makes `count` sequential requests and returns their times in ms. `bytesPerS` limits the server's speed. */
    fetch: (count, { bytes, bytesPerS = Number.MAX_SAFE_INTEGER }) =>
      turn.measure({ count, bytes, path: `/${bytes}/${bytesPerS}` }),
    stop: () => turn.stop(),
  };
}
