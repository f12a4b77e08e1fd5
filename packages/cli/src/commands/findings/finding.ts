import type { Style } from "../../terminal/style.ts";
import { wrapText } from "../../terminal/wrap-text.ts";

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

/** Returns a line for each finding, wrapped to the width of a terminal. */
export function findingLines(findings: readonly Finding[], style: Style, columns: number | undefined): string {
  return findings
    .map(
      ({ state, text, what }) =>
        `${style(COLOURS[state], state.padEnd(7))} ${what.padEnd(10)} ${wrapText(text, { columns, indent: INDENT })}\n`,
    )
    .join("");
}

const INDENT = 19;

/** Returns the failures, and below them the commands to type; nothing without failures. */
export function failureText(findings: readonly Finding[], style: Style, columns: number | undefined): string {
  const failures = findings.filter(isFailure);
  const commands = new Set(failures.flatMap(({ todo = [] }) => todo));
  const todo = [...commands].map((command) => `  ${command}\n`);
  const title = `\n${style("bold", "To do:")}\n`;
  return [findingLines(failures, style, columns), ...(todo.length === 0 ? [] : [title, ...todo])].join("");
}

/** Returns the finding about a SQLite that does not work; none without a problem. */
export function listSqliteFindings(problem: string | undefined): readonly Finding[] {
  if (problem === undefined) return [];
  // Its binary is fetched, or compiled, by a script of the optional package.
  const todo = "npm install -g budgie-mcp --include=optional --ignore-scripts=false    # or use Node 22.13 or later";
  return [{ state: "failed", what: "sqlite", text: problem, todo }];
}

/** Removes failed checks that need SQLite, if SQLite is missing. */
export function withoutRepeats(findings: readonly Finding[]): readonly Finding[] {
  if (!findings.some(({ what }) => what === "sqlite")) return findings;
  return findings.filter((finding) => !isFailure(finding) || !NEED_SQLITE.has(finding.what));
}

const NEED_SQLITE: ReadonlySet<string> = new Set(["login", "egress"]);

export function isFailure({ state }: Finding): boolean {
  return state === "failed";
}
