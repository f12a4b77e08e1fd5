import { existsSync } from "node:fs";

// Where Debian's package "faketime" puts it.
const LIBRARY = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketime.so.1`;

/** Whether a process can be given a wall clock of its own here. */
export function hasFaketime(): boolean {
  return existsSync(LIBRARY);
}

/** Gives a process the wall clock that a file says. Other clocks and the times of files stay what they are. */
export function toFaketimeVariables(clock: string): Readonly<Record<string, string>> {
  const own = { FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  return { LD_PRELOAD: LIBRARY, NO_FAKE_STAT: "1", ...own };
}
