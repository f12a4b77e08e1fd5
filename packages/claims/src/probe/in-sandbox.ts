import { randomUUID } from "node:crypto";
import type { Command, Exit } from "@budgie/core";
import type { Probe, Verdict } from "./claim.ts";
import type { Lab, Ran, TurnOptions } from "../lab/lab.ts";
import { PERL_PRELUDE } from "./perl-prelude.ts";

/** What is reported of a probe in Perl where there is none. */
export const NO_PERL = "the image has no perl";

/** What a probe of a script may say of its turn. */
export type ScriptOptions = TurnOptions & {
  /** What to make of a turn that ended without a report */
  readonly silent?: (ran: Ran) => Verdict | undefined;
};

/** A function where it depends on the lab, or needs something made in it first; it may say more of its turn. */
type Script = string | ((lab: Lab) => Text | Promise<Text>);

type Text = string | (TurnOptions & { readonly script: string });

/**
 * A probe that is a `/bin/sh` script, run as the agent would be. It calls `held WHY`, `through EVIDENCE` or `untried WHY`
 * exactly once, and not in a subshell; whatever else happens is `untried`.
 */
export function inSandbox(name: string, script: Script, options: ScriptOptions = {}): Probe {
  return toProbe({ name, script, options }, (nonce, program) => [
    "/bin/sh",
    "-c",
    SHELL_PRELUDE + program,
    "probe",
    nonce,
  ]);
}

/** The same in Perl, which every Debian and Ubuntu has, for system calls: `tried(call("mount", …), @reached)` reports one. */
export function inPerl(name: string, script: Script, options: ScriptOptions = {}): Probe {
  const start = `${SHELL_PRELUDE}command -v perl >/dev/null || untried "${NO_PERL}"\nexec perl -e "$2" "$1"`;
  return toProbe({ name, script, options }, (nonce, program) => {
    return ["/bin/sh", "-c", start, "probe", nonce, PERL_PRELUDE + program];
  });
}

type Parts = { readonly name: string; readonly script: Script; readonly options: ScriptOptions };

function toProbe({ name, options, script }: Parts, toArgv: (nonce: string, program: string) => Command["argv"]): Probe {
  const { silent, ...turn } = options;
  return {
    name,
    async attempt(lab) {
      const nonce = `report-${randomUUID()}`;
      const given = typeof script === "string" ? script : await script(lab);
      const { script: program, ...more } = typeof given === "string" ? { script: given } : given;
      const ran = await lab.run(toArgv(nonce, program), { ...turn, ...more });
      return toVerdict(nonce, ran, silent?.(ran));
    },
  };
}

// A line that the image or the workspace happens to print is not taken for the report.
const SHELL_PRELUDE = `
report() { printf '\\n%s %s %s\\n' "$nonce" "$1" "$(printf %s "$2" | tr '\\n' ' ')"; exit 0; }
nonce=$1
held() { report held "$*"; }
through() { report got-through "$*"; }
untried() { report untried "$*"; }
`;

const REPORT = /^(\S+) (held|got-through|untried) ?(.*)$/;

function toVerdict(nonce: string, ran: Ran, silent: Verdict | undefined): Verdict {
  const reports = ran.stdout.split("\n").filter((line) => line.startsWith(nonce));
  const [, , outcome, detail = ""] = REPORT.exec(reports.length === 1 ? (reports[0] ?? "") : "") ?? [];
  if (outcome !== undefined) return { outcome: outcome as Verdict["outcome"], detail: detail.slice(0, 300).trim() };
  const said = `${reports.length} reports, ${toText(ran.exit)}: ${ran.stderr.trim().slice(-200)}`;
  return (reports.length === 0 ? silent : undefined) ?? { outcome: "untried", detail: said };
}

function toText({ exitCode, oomKilled, signal }: Exit): string {
  return `${signal ?? `exit code ${exitCode}`}${oomKilled ? ", out of memory" : ""}`;
}
