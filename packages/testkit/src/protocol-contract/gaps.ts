import type { Gaps } from "./protocol-setup.ts";

/** The facts that each protocol does not have, and why. ADR 21 lists them. */
export const PROTOCOL_GAPS = {
  kiro: {
    "begins none in place of one that is lost":
      "it resumes the newest conversation of the directory, or silently begins one",
    "shows what the agent does": "its output is text, in which tools cannot be told from the answer",
  },
  "kiro-acp": {},
  acp: {},
  a2a: {
    "begins none in place of one that is lost": "a server may accept the id of a conversation that it has forgotten",
    "names denied tools": "its agents have tools of their own, of which they say nothing",
    "reports the cost": "it has no words for it",
  },
} as const satisfies Readonly<Record<string, Gaps>>;
