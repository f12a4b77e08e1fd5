import { readFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { createBudgieUser } from "../helpers/start-budgie.ts";

const fixture = new URL("../fixtures/report-processor-time.mjs", import.meta.url).href;

const ROUNDS = 5;
// About twice the measured ratio: CPU time varies less than elapsed time, but a busy machine has cold caches.
const LIMIT = 10;

it("starts, lists its tools and ends within ten times the processor time of node -e 0", async () => {
  await using user = await createBudgieUser();
  const spent = (name: string): readonly number[] => readFileSync(toLog(name), "utf8").trim().split("\n").map(Number);
  const toLog = (name: string): string => join(user.host.home, name);
  const toEnv = (name: string) => ({ NODE_OPTIONS: `--import ${fixture}`, BUDGIE_TEST_TIMES: toLog(name) });

  for (let round = 0; round < ROUNDS; round++) {
    spawnSync(process.execPath, ["-e", "0"], { env: toEnv("base") });
    const { client, ended } = await user.start({ env: toEnv("budgie") });
    await client.listTools();
    await client.close();
    await ended;
  }

  const [base, budgie] = [spent("base"), spent("budgie")];
  expect([base.length, budgie.length]).toEqual([ROUNDS, ROUNDS]);
  // Compares the minima, since everything above them is noise.
  expect(Math.min(...budgie) / Math.min(...base)).toBeLessThan(LIMIT);
});
