import type { RunFacts, ToolCount } from "../runs/run-log.ts";
import { truncateText } from "../text/truncate-text.ts";
import type { Turn } from "./turn.ts";

// An agent may choose the texts, and how many there are.
const MOST_TEXTS = 100;
const LONGEST_TEXT_BYTES = 1_000;

/** Builds what the run log keeps of a turn's rights and of its report. */
export function toRunFacts(
  { report, request: { policy }, route, sandbox }: Turn,
  { denied, tools }: Pick<RunFacts, "denied"> & { readonly tools: readonly ToolCount[] },
): RunFacts {
  const access = { workspace: policy.workspace, egress: policy.egress.mode };
  return {
    ...(route.runner.isolation === "container" ? { access } : {}),
    ...(sandbox === undefined ? {} : { sandbox }),
    timeoutMs: policy.timeoutMs,
    ...(report.image === undefined ? {} : { image: report.image }),
    changedExecutablePaths: bound(report.changedExecutablePaths),
    ...(report.changedFiles === undefined ? {} : { changedFiles: report.changedFiles }),
    ...(tools.length === 0 ? {} : { tools }),
    denied: bound(denied),
    warnings: bound(report.warnings),
  };
}

function bound(texts: readonly string[] = []): readonly string[] {
  return texts.slice(0, MOST_TEXTS).map((text) => truncateText(text, LONGEST_TEXT_BYTES));
}
