import { execFile } from "node:child_process";
import { BudgieError } from "@budgie/core";

// It takes 0.2 s.
const LIMIT_MS = 10_000;
const MOST_BYTES = 16 * 1024;

/** Runs `hold probe` outside the agent's container, where no jail is, and resolves to what it printed. */
export function runProbe(file: string, words: readonly string[]): Promise<string> {
  const limits = { env: {}, timeout: LIMIT_MS, killSignal: "SIGKILL", maxBuffer: MOST_BYTES } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(file, ["probe", ...words], limits, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(failedError());
    });
    child.stdin?.on("error", () => undefined).end();
  });
}

function failedError(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The Pod could not try its network from beside the agent. Try again.");
}
