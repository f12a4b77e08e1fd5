import type { Hygiene } from "./hygiene.ts";
import type { Protocol } from "./protocol.ts";
import { withAnswerLimit } from "./with-answer-limit.ts";
import { withCleanAnswers } from "./clean-answers.ts";

/** The protocol, its answers cleaned and bounded as far as these rules say. */
export function withHygiene(protocol: Protocol, { maxAnswerBytes, sanitize }: Hygiene): Protocol {
  const clean = sanitize ? withCleanAnswers(protocol) : protocol;
  return maxAnswerBytes > 0 ? withAnswerLimit(clean, maxAnswerBytes) : clean;
}
