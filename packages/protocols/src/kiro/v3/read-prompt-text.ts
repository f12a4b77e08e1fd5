import { BudgieError } from "@budgie/core";
import { reloadFile } from "@budgie/core/agents";

/** Reads the file of an agent's prompt. Throws `AGENT_NOT_FOUND` unless it is a regular file of at most 1 MiB. */
export function readPromptText(agent: string, path: string): string {
  const { problem = "there is no such file", value } = reloadFile(path, (text) => text);
  if (value !== undefined) return value;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `The prompt of the agent "${agent}" cannot be read from "${path}": ${problem}. Repair it.`,
  );
}
