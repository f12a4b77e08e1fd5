import type { Fact } from "./facts.ts";
import type { Deed, ProtocolUnderTest } from "./protocol-under-test.ts";

/** The parts of the contract that differ by protocol. */
export type ProtocolSetup = {
  /**
   * The prompts that have its agent do this. To speak is to answer `Answered.`, to remember to keep the word `token-lark`, which a recall
   * answers; much are 20,000 characters; an agent that hangs says something before; painted is `red`, between control characters.
   */
  readonly prompts: Readonly<Partial<Record<Deed, string>>>;
  /** The facts that it does not have, and why */
  readonly without: Gaps;
  /** Creates a place, which is disposed of at the end of its test. */
  readonly create: () => Promise<ProtocolUnderTest>;
};

export type Gaps = Readonly<Partial<Record<Fact, string>>>;
