/**
 * Returns a line for a person or a model: bytes that are no UTF-8 as `\xNN`, and all characters that are not seen, or that change how others
 * are shown, as `\u{N}`. Tabs stay.
 */
export function escapeBytes(latin1: string): string {
  const text = Buffer.from(latin1, "latin1").toString("utf8");
  return text.includes("\uFFFD") ? latin1.replace(SEQUENCES, decodeSequence) : escapeUnseen(text);
}

/** Returns a text on one line, with everything that is not seen escaped. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

const UNSEEN = /(?!\t)[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

// All that is not printable ASCII: the sequences of UTF-8, or else one byte.
const SEQUENCES =
  /[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]|\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2}|[^\x20-\x7E]/g;

function decodeSequence(sequence: string): string {
  const isByte = sequence.length === 1 && sequence > "\x7F";
  if (isByte) return `\\x${sequence.charCodeAt(0).toString(16)}`;
  return escapeUnseen(Buffer.from(sequence, "latin1").toString("utf8"));
}
