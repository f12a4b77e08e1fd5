import { EXIT, withFlags, type Host } from "@budgie/mcp-server";
import { createStyle } from "../../terminal/style.ts";
import { failureText, findingLines, isFailure, withoutRepeats, type Finding } from "../findings/finding.ts";
import { isProven, proofText } from "./proof.ts";
import type { proveClaims } from "./prove-claims.ts";

type Printing = {
  readonly json: boolean;
  /** False if no sandbox can start at all */
  readonly isReady: boolean;
  /** Proves the claims, once the findings are printed */
  readonly prove: (() => ReturnType<typeof proveClaims>) | undefined;
};

/** Prints the findings, and proves the claims if asked to. Resolves to the exit code. */
export async function printFindings(
  found: readonly Finding[],
  { isReady, json, prove }: Printing,
  host: Host,
): Promise<number> {
  const findings = withoutRepeats(found).map((finding) => ({ ...finding, text: withFlags(finding.text) }));
  const style = createStyle(host);
  const print = (some: readonly Finding[]): void => {
    if (!json) host.stdout.write(findingLines(some, style, host.columns));
  };
  const sound = findings.filter((finding) => !isFailure(finding));
  print(sound);
  const { problems, proof } = (await prove?.()) ?? { problems: [], proof: undefined };
  print(problems.filter((finding) => !isFailure(finding)));
  const all = [...sound, ...findings.filter(isFailure), ...problems];
  const isWell = !all.some(isFailure) && (proof === undefined || isProven(proof));
  const rest = `${proof === undefined ? "" : `\n${proofText(proof)}\n`}${failureText(all, style, host.columns)}`;
  host.stdout.write(json ? `${JSON.stringify({ ok: isWell, findings: all, proof })}\n` : rest);
  return isWell ? EXIT.done : isReady ? EXIT.failed : EXIT.unready;
}
