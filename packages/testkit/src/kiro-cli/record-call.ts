import { appendFileSync } from "node:fs";

/** A line of the file that `FAKE_KIRO_LOG` names. */
type CallRecord = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly stdin: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
};

const VARIABLES = /^(?:HOME|PATH|USER|LANG|TERM|TMPDIR|NO_COLOR|.*_proxy)$|^(?:KIRO|XDG|LC|FAKE_KIRO|AWS)_/i;

/** Appends this process's arguments to the log for tests. */
export function recordCall(logFile: string, stdin: string | undefined): void {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => VARIABLES.test(name)));
  const record: CallRecord = { argv: process.argv.slice(2), cwd: process.cwd(), stdin, env, pid: process.pid };
  appendFileSync(logFile, `${JSON.stringify(record)}\n`);
}
