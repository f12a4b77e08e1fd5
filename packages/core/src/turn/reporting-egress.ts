import { createEgressTally, type EgressTally } from "./egress-tally.ts";
import { BudgieError } from "../errors.ts";
import type { Reply } from "./turn.ts";

/** Tells what a turn, however it ended, reached of the network. */
export async function reportingEgress<Answer extends object>(
  turn: (tally: EgressTally) => Promise<Answer>,
): Promise<Answer & Pick<Reply, "egress">> {
  const tally = createEgressTally();
  try {
    const reply = await turn(tally);
    return { ...reply, egress: await tally.total() };
  } catch (error) {
    if (error instanceof BudgieError) error.egress = await tally.total();
    throw error;
  }
}
