import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Returns the text in a format, or unchanged where colours do not belong. */
export type Style = (format: Format, text: string) => string;

type Output = {
  readonly env: NodeJS.ProcessEnv;
  /** `undefined` if the output is no terminal */
  readonly columns: number | undefined;
};

/** Tells whether an output is a terminal that supports colours and overwritten lines. */
export function isLively({ columns, env }: Output): boolean {
  return columns !== undefined && !env["NO_COLOR"] && !env["CI"] && env["TERM"] !== "dumb";
}

/** Creates the style of an output. */
export function createStyle(output: Output): Style {
  return isLively(output) ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;
}
