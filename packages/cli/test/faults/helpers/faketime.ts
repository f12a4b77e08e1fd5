import { existsSync } from "node:fs";

// The path in Debian's package "faketime".
const LIBRARY = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketime.so.1`;

/** Tells whether a process can have a wall clock of its own here. */
export function hasFaketime(): boolean {
  return existsSync(LIBRARY);
}

/** Gives a process a wall clock that a file controls. Other clocks and the times of files stay real. */
export function toFaketimeVariables(clock: string): Readonly<Record<string, string>> {
  const own = { FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  return { LD_PRELOAD: LIBRARY, NO_FAKE_STAT: "1", ...own };
}
