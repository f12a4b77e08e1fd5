import { z } from "zod";
import type { TokenFigures, UsageReport } from "@budgie/core/runs";

const amount = z.int().min(0).max(1e12);
const count = amount.optional().catch(undefined);

const figures = z.object({
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  thoughtTokens: count,
  cachedReadTokens: count,
  cachedWriteTokens: count,
});

type Given = z.infer<typeof figures>;

/** Returns a count of tokens; `undefined` if it is impossible, since an agent chose it. */
export function parseCount(given: unknown): number | undefined {
  return amount.safeParse(given).data;
}

/** Parses ACP's counts of tokens. Programs differ in what they count twice, which their total shows. */
export function parseTokens(given: unknown): TokenFigures {
  const { data } = figures.safeParse(given);
  if (data === undefined) return {};
  const { cachedReadTokens: cachedTokens, thoughtTokens, totalTokens } = data;
  return keepKnown({ ...toOwn(data), cachedTokens, thoughtTokens, totalTokens });
}

/** Returns the tokens that were read anew, and those that were written, thoughts included. */
function toOwn(given: Given): TokenFigures {
  const { cachedReadTokens: cached = 0, cachedWriteTokens: stored = 0, thoughtTokens: thoughts = 0 } = given;
  const { inputTokens: input, outputTokens: output, totalTokens: total } = given;
  if (input === undefined || output === undefined) return { inputTokens: input, outputTokens: output };
  const [whole, apart] = [input + output, input + output + cached + stored];
  const hasCached = total === whole || total === whole + thoughts;
  const hasThoughts = total === whole || total === apart;
  return {
    inputTokens: hasCached ? Math.max(input - cached, 0) : input + stored,
    outputTokens: hasThoughts ? output : output + thoughts,
  };
}

const tally = z.object({ input_tokens: count, output_tokens: count });
const quota = z.object({
  quota: z.object({
    token_count: tally,
    model_usage: z
      .tuple([z.object({ model: z.string().regex(/^[\w.:/-]{1,100}$/) })])
      .optional()
      .catch(undefined),
  }),
});

/** Parses the counts that Gemini CLI adds to the answer to a prompt. It counts no thoughts, and cached tokens as read anew. */
export function parseQuota(meta: unknown): Pick<UsageReport, "inputTokens" | "model" | "outputTokens"> {
  const { data } = quota.safeParse(meta);
  if (data === undefined) return {};
  const { model_usage: [used] = [], token_count: tokens } = data.quota;
  return keepKnown({ inputTokens: tokens.input_tokens, outputTokens: tokens.output_tokens, model: used?.model });
}

function keepKnown<Figures extends object>(given: Figures): Figures {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Figures;
}
