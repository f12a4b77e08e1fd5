import type { z } from "zod";
import { BudgieError } from "@budgie/core";
import { didYouMean } from "../terminal/did-you-mean.ts";

/** Creates the error for a fault of a configuration file, of which these are the keys. */
export function fileError(file: string, issue: z.core.$ZodIssue | undefined, keys: readonly string[]): BudgieError {
  const isTop = issue === undefined || issue.path.length === 0;
  const place = isTop ? "its content" : `"${issue.path.join(".")}"`;
  if (issue?.code !== "unrecognized_keys") {
    const expected = issue?.message.replace(/^Invalid input: expected (\w+),.*$/, "of the type $1");
    return new BudgieError("CONFIG_INVALID", `Expected ${place} in "${file}" to be ${expected}.`);
  }
  const near = isTop ? didYouMean(issue.keys[0] ?? "", keys) : "";
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" has a key that is unknown in ${place}: "${issue.keys.join('", "')}".${near} Remove it, or correct its name.`,
  );
}
