import { readFileSync } from "node:fs";

/** Loads the version from this package's `package.json`. */
export function loadVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
