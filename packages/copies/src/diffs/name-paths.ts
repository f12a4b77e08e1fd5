import type { NamedPaths } from "@budgie/core/errors";
import { escapeUnseen } from "./escape-bytes.ts";

/** The most paths that are named where all are counted. */
export const MOST_NAMED = 20;

/** Counts paths, and names the first of them, escaped. */
export function namePaths(paths: readonly string[]): NamedPaths {
  return { count: paths.length, paths: paths.slice(0, MOST_NAMED).map(escapeUnseen) };
}
