import { findEndpoints, type HostEnvironment } from "./engine/find-endpoints.ts";

/** Returns true if the user chose an engine that is not behind a socket of this machine, without asking it. */
export function isEngineElsewhere(env: HostEnvironment, home: string): boolean {
  try {
    return findEndpoints(env, home).some(({ address }) => !("socketPath" in address));
  } catch {
    // Whoever connects to it reports the error.
    return false;
  }
}
