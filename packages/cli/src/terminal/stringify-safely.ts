/** Returns a line of JSON with all control and invisible characters escaped. It parses to the same value. */
export function stringifySafely(value: unknown): string {
  return `${JSON.stringify(value).replace(UNSEEN, escapeCharacter)}\n`;
}

// JSON.stringify escapes only control characters below the space.
const UNSEEN = /[\p{Control}\p{Format}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes a character by its UTF-16 code units, the only form in JSON. */
function escapeCharacter(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
