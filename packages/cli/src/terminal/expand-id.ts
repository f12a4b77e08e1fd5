import { BudgieError } from "@budgie/core";

const MOST_NAMED = 5;

/** Returns the id that begins with `text`; `text` itself if there is none. Throws `INPUT_INVALID` if there are several. */
export function expandId(text: string, ids: readonly string[]): string {
  const found = text === "" || ids.includes(text) ? [text] : ids.filter((id) => id.startsWith(text));
  const [id = text, ...others] = found;
  if (others.length === 0) return id;
  const named = found.slice(0, MOST_NAMED).map((each) => `"${each}"`);
  throw new BudgieError(
    "INPUT_INVALID",
    `The ids of several sessions begin with "${text}", such as ${named.join(", ")}. Give more of the id.`,
  );
}

/** Returns an id as tables show it, which commands take in place of the whole one. */
export function shortId(id: string): string {
  return id.slice(0, SHORT_LENGTH);
}

// Distinguishes some thousands of ids.
const SHORT_LENGTH = 8;
