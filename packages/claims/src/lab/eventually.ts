import { setTimeout as sleep } from "node:timers/promises";

/** Resolves when `isSo` returns true, or after `limitMs`, by default 20 s. */
export async function eventually(isSo: () => boolean, limitMs = 20_000): Promise<void> {
  for (const end = Date.now() + limitMs; Date.now() < end && !isSo();) await sleep(50);
}
