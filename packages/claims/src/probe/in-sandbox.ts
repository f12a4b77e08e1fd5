import { randomUUID } from "node:crypto";
import type { Command, Exit } from "@budgie/core";
import type { Probe, Verdict } from "./claim.ts";
import type { Ran } from "../lab/collect.ts";
import type { Lab, AttemptOptions } from "../lab/lab.ts";
import { PERL_PRELUDE } from "./perl-prelude.ts";

/** The detail of a Perl probe's verdict if the image has no Perl. */
export const NO_PERL = "the image has no perl";

/** The options of a script's turn. */
export type ScriptOptions = AttemptOptions & {
  /** Judges a turn that ended without a report */
  readonly silent?: (ran: Ran) => Verdict | undefined;
};

/** A script, or a function that creates it from the lab, together with further options of its turn. */
type Script = string | ((lab: Lab) => Text | Promise<Text>);

type Text = string | (AttemptOptions & { readonly script: string });

/**
 * Creates a probe from a `/bin/sh` script that runs like an agent. The script calls `held WHY`, `through EVIDENCE` or
 * `untried WHY` exactly once, outside subshells. Anything else is `untried`.
 */
export function inSandbox(name: string, script: Script, options: ScriptOptions = {}): Probe {
  return makeProbe({ name, script, options }, (nonce, program) => [
    "/bin/sh",
    "-c",
    SHELL_PRELUDE + program,
    "probe",
    nonce,
  ]);
}

/** Creates a probe from a Perl script, for system calls: `tried(call("mount", …), @reached)` reports on one. Debian and Ubuntu always have Perl. */
export function inPerl(name: string, script: Script, options: ScriptOptions = {}): Probe {
  const start = `${SHELL_PRELUDE}command -v perl >/dev/null || untried "${NO_PERL}"\nexec perl -e "$2" "$1"`;
  return makeProbe({ name, script, options }, (nonce, program) => {
    return ["/bin/sh", "-c", start, "probe", nonce, PERL_PRELUDE + program];
  });
}

type ProbeSpec = { readonly name: string; readonly script: Script; readonly options: ScriptOptions };

function makeProbe(
  { name, options, script }: ProbeSpec,
  toArgv: (nonce: string, program: string) => Command["argv"],
): Probe {
  const { silent, ...turn } = options;
  const begin = async (lab: Lab) => {
    const nonce = `report-${randomUUID()}`;
    const given = typeof script === "string" ? script : await script(lab);
    const { script: program, ...more } = typeof given === "string" ? { script: given } : given;
    return { argv: toArgv(nonce, program), nonce, options: { ...turn, ...more } };
  };
  return {
    name,
    async attempt(lab) {
      const { argv, nonce, options: own } = await begin(lab);
      const ran = await lab.run(argv, own);
      return readVerdict(nonce, ran, silent?.(ran));
    },
    async prepare(lab) {
      // A turn that ends without a report says nothing of others' programs.
      if (silent !== undefined) return undefined;
      const { argv, nonce, options: own } = await begin(lab);
      return { argv, options: own, read: (ran) => readVerdict(nonce, ran, undefined) };
    },
  };
}

// The nonce keeps other output from being taken for the report.
const SHELL_PRELUDE = `
report() { printf '\\n%s %s %s\\n' "$nonce" "$1" "$(printf %s "$2" | tr '\\n' ' ')"; exit 0; }
nonce=$1
held() { report held "$*"; }
through() { report got-through "$*"; }
untried() { report untried "$*"; }
`;

const REPORT = /^(\S+) (held|got-through|untried) ?(.*)$/;

function readVerdict(nonce: string, ran: Ran, silent: Verdict | undefined): Verdict {
  const reports = ran.stdout.split("\n").filter((line) => line.startsWith(nonce));
  const [, , outcome, detail = ""] = REPORT.exec(reports.length === 1 ? (reports[0] ?? "") : "") ?? [];
  if (outcome !== undefined) return { outcome: outcome as Verdict["outcome"], detail: detail.slice(0, 300).trim() };
  const said = `${reports.length} reports, ${exitText(ran.exit)}: ${ran.stderr.trim().slice(-200)}`;
  return (reports.length === 0 ? silent : undefined) ?? { outcome: "untried", detail: said };
}

function exitText({ exitCode, oomKilled, signal }: Exit): string {
  return `${signal ?? `exit code ${exitCode}`}${oomKilled ? ", out of memory" : ""}`;
}
