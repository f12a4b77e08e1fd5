import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 20_000;

/** Resolves when something is so, at the latest after 20 s. */
export async function eventually(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end && !isSo();) await sleep(50);
}
