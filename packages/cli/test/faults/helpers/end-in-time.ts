import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Budgie } from "../../helpers/start-budgie.ts";

const LIMIT_MS = 10_000;

/** Asks a budgie to end (SIGTERM), and expects that it exits with 0 within 10 s. */
export async function endInTime({ child, ended }: Pick<Budgie, "child"> & { readonly ended: Promise<unknown> }) {
  child.kill("SIGTERM");
  const end = await Promise.race([ended, sleep(LIMIT_MS, "not within 10 s", { ref: false })]);
  expect(end).toMatchObject({ exitCode: 0 });
}
