/** The content of a message: text, or parts of which some are text. */
export type Content = string | readonly { readonly text?: string }[] | null;

/** Returns the text of a message. */
export function toText(content: Content | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}
