import { BudgieError } from "../errors.ts";
import type { Hygiene } from "../protocol/hygiene.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { toCountText } from "../text/to-count-text.ts";

/** Checks a caller's prompt and removes what hides in it, or throws `INPUT_INVALID`. */
export function parsePrompt(prompt: string, agent: string, { maxPromptBytes, sanitize }: Hygiene): string {
  const bytes = Buffer.byteLength(prompt);
  if (maxPromptBytes > 0 && bytes > maxPromptBytes) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The prompt for "${agent}" has ${toCountText(bytes)} bytes, and ${toCountText(maxPromptBytes)} are allowed. ` +
        `Put the material into a file in the directory and name that, or raise --max-prompt-bytes.`,
    );
  }
  const text = sanitize ? sanitizeText(prompt) : prompt;
  if (text.trim() !== "") return text;
  throw new BudgieError("INPUT_INVALID", `The prompt for "${agent}" is empty. Say what the agent should do.`);
}
