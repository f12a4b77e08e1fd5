import type { Fact } from "./facts.ts";

/** The facts that a protocol does not have, and why. */
export type Gaps = Readonly<Partial<Record<Fact, string>>>;

/** The facts that do not hold for each protocol, and why. ADR 21 lists them. */
export const PROTOCOL_GAPS = {
  kiro: {
    "does not replace a lost conversation with a new one":
      "it resumes the newest conversation of the directory, or silently begins one",
    "shows what the agent does": "its output is text, in which tools cannot be told from the answer",
  },
  "kiro-acp": {},
  acp: {},
  a2a: {
    "does not replace a lost conversation with a new one":
      "a server may accept the id of a conversation that it has forgotten",
    "names denied tools": "its agents have tools of their own, of which they say nothing",
    "reports the cost": "it has no words for it",
  },
} as const satisfies Readonly<Record<string, Gaps>>;
