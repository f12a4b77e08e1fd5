import { expect } from "vitest";
import type { Budgie } from "../helpers/start-budgie.ts";

const LIMIT_MS = 10_000;

/** Asks a budgie to end (SIGTERM), and expects that it has, in good order, within 10 s. */
export async function endInTime({ child, ended }: Pick<Budgie, "child"> & { readonly ended: Promise<unknown> }) {
  const asked = performance.now();
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ exitCode: 0 });
  expect(performance.now() - asked).toBeLessThan(LIMIT_MS);
}
