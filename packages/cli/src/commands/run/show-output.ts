import { BudgieError, createOwner } from "@budgie/core";
import { sanitizeText } from "@budgie/core/text";
import type { Transcript } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { withRunArchive } from "../runs/with-run-archive.ts";
import { askRun, findLiveRun, findLiveRuns, type FoundRun, type FoundRuns } from "./find-live-runs.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import { runAnswer } from "@budgie/core/live";
import { interruptible } from "../../process/interruptible.ts";

export type ShowOutputOptions = {
  /** The beginning of a run's id; the only turn by default */
  readonly id: string | undefined;
  readonly follow: boolean;
};

/**
 * Runs `budgie logs`: prints what the agent of a turn has printed, and with `follow` the rest until its end. Of a turn that has ended it
 * prints the transcript, if the run log keeps them.
 */
export async function showOutput(config: Config, { follow, id }: ShowOutputOptions, host: Host): Promise<number> {
  return interruptible(host, async (signal) => {
    const found = await findLiveRuns(createOwner(config));
    signal.throwIfAborted();
    const kept = await findTranscript(config, found, id);
    if (kept !== undefined) return printTranscript(kept, host);
    return printLive(findLiveRun(found, id), { follow, signal }, host);
  });
}

type Reading = Pick<ShowOutputOptions, "follow"> & { readonly signal: AbortSignal };

async function printLive({ owner, runId }: FoundRun, { follow, signal }: Reading, host: Host): Promise<number> {
  let isWhole = false;
  let isInLine = false;
  for await (const answer of askRun(owner, { ask: "output", runId, follow }, signal)) {
    const { end, text = "" } = runAnswer.output.parse(answer);
    // An agent wrote it, and a terminal obeys control characters.
    host.stdout.write(sanitizeText(text));
    if (text !== "") isInLine = !text.endsWith("\n");
    if (isInLine && (end !== undefined || !follow)) host.stdout.write("\n");
    if (end !== undefined) host.report(`The turn has ended: ${end}.`);
    isWhole = !follow || end !== undefined;
  }
  if (isWhole) return EXIT.done;
  host.report("The output is cut off: the turn's budgie sent no more of it, or has ended.");
  return EXIT.failed;
}

/** Finds the transcript of a turn that has ended; `undefined` if the id is of none. */
async function findTranscript(
  config: Config,
  { runs }: Pick<FoundRuns, "runs">,
  id: string | undefined,
): Promise<Transcript | undefined> {
  if (id === undefined || runs.some(({ runId }) => runId.startsWith(id))) return undefined;
  const kept = await withRunArchive(config, (archive) => archive.transcript(id));
  // One that seems to run is in a budgie that does not answer.
  return kept?.outcome === "running" ? undefined : kept;
}

/** Prints the transcript of a turn that has ended. Throws `RUN_NOT_FOUND` if it was not kept. */
function printTranscript({ id, outcome, text }: Transcript, host: Host): number {
  if (text === undefined) {
    const message = `The turn "${id}" does not run now (${outcome}), and what its agent printed was not kept.`;
    const remedy = 'With "keepTranscripts": true in the configuration file, that of later turns is.';
    throw new BudgieError("RUN_NOT_FOUND", `${message} ${remedy} "budgie runs show" has its answer.`);
  }
  // An agent wrote it, and a terminal obeys control characters.
  const shown = sanitizeText(text);
  host.stdout.write(shown.endsWith("\n") ? shown : `${shown}\n`);
  host.report(`The turn has ended: ${outcome}.`);
  return EXIT.done;
}
