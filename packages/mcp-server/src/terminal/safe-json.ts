/** A line of JSON that is the same for a program, and in which nothing hides from a reader or speaks to a terminal. */
export function toSafeJson(value: unknown): string {
  return `${JSON.stringify(value).replace(UNSEEN, toEscape)}\n`;
}

// JSON itself escapes the control characters below the space.
const UNSEEN = /[\p{Control}\p{Format}\p{Default_Ignorable_Code_Point}]/gu;

/** By its code units: JSON has no other escapes. */
function toEscape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
