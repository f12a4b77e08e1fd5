import type { z } from "zod";
import { BudgieError } from "@budgie/core";
import { formatOptionName } from "./format-option-name.ts";

/** Returns the error for options that their schema refuses, naming the option, its value and what was expected. */
export function configError({ issues: [issue] }: z.ZodError, values: Readonly<Record<string, unknown>>): BudgieError {
  const [key = ""] = issue?.path.map(String) ?? [];
  const value = issue?.path.length === 2 ? (values[key] as readonly unknown[])[Number(issue.path[1])] : values[key];
  return new BudgieError(
    "CONFIG_INVALID",
    `Expected ${formatOptionName(key)} to be ${issue?.message}, got ${JSON.stringify(value)}.`,
  );
}
