import type { BudgieUser } from "../../helpers/start-budgie.ts";
import type { Call } from "./fault-place.ts";

type Run = { readonly id: string; readonly outcome: string };

/** Lists the calls and turns whose end neither the client nor a reader of the run log can know. */
export async function findLostAnswers(user: BudgieUser, calls: readonly Call[]): Promise<readonly string[]> {
  return [...(await findUntold(calls)), ...(await findUnlogged(user))];
}

/** Lists the calls of connected clients that received neither their answer nor an error. */
async function findUntold(calls: readonly Call[]): Promise<readonly string[]> {
  const untold = await Promise.all(
    calls.map(async ({ told, word }) => {
      const { code, end, text } = await told;
      const isReported = end === "cut off" || (end === "answered" ? text.includes(word) : code !== undefined);
      return isReported ? [] : [`${word}: ${end} with ${text}`];
    }),
  );
  return untold.flat();
}

/** Lists the turns whose end, or whose answer, is missing in the log. */
async function findUnlogged(user: BudgieUser): Promise<readonly string[]> {
  const { stdout } = await user.command(["runs", "ls", "--last", "1000", "--json"]);
  const runs = JSON.parse(stdout) as readonly Run[];
  const unlogged: string[] = [];
  for (const { id, outcome } of runs) {
    if (outcome === "running") unlogged.push(`${id} runs for ever`);
    if (outcome !== "answered") continue;
    const { stdout: shown } = await user.command(["runs", "show", id, "--json"]);
    if (!(JSON.parse(shown) as { answer?: string }).answer) unlogged.push(`${id} shows no answer`);
  }
  return unlogged;
}
