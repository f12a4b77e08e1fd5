import { Help } from "commander";

type Layout = {
  /** The width of the terminal; `undefined` if there is none */
  readonly columns: number | undefined;
  /** The column in which the text begins */
  readonly indent: number;
};

/** Wraps a text to the width of a terminal, with its later lines below its first. */
export function wrapText(text: string, { columns, indent }: Layout): string {
  if (columns === undefined) return text;
  return new Help().boxWrap(text, columns - indent).replaceAll("\n", `\n${" ".repeat(indent)}`);
}
