import type { Style } from "../../terminal/style.ts";

/** The result of one check. */
export type Finding = {
  /** `note`: worth knowing, and no obstacle */
  readonly state: "ok" | "note" | "failed";
  readonly what: string;
  readonly text: string;
  /** A command that removes the cause */
  readonly todo?: string | undefined;
};

const COLOURS = { ok: "green", note: "yellow", failed: "red" } as const;

/** Returns a line for each finding. */
export function findingLines(findings: readonly Finding[], style: Style): string {
  return findings
    .map(({ state, text, what }) => `${style(COLOURS[state], state.padEnd(7))} ${what.padEnd(10)} ${text}\n`)
    .join("");
}

/** Returns the failures, and below them the commands to type; nothing without failures. */
export function failureText(findings: readonly Finding[], style: Style): string {
  const failures = findings.filter(isFailure);
  const commands = new Set(failures.flatMap(({ todo = [] }) => todo));
  const todo = [...commands].map((command) => `  ${command}\n`);
  const title = `\n${style("bold", "To do:")}\n`;
  return [findingLines(failures, style), ...(todo.length === 0 ? [] : [title, ...todo])].join("");
}

export function isFailure({ state }: Finding): boolean {
  return state === "failed";
}
