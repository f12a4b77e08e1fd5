import { createOwner } from "@budgie/core";
import { sanitizeText } from "@budgie/core/text";
import type { Config } from "../../config/config.ts";
import { askRun, findLiveRun, findLiveRuns } from "./find-live-runs.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import { runAnswer } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";

export type ShowOutputOptions = {
  /** The beginning of a run's id; the only turn by default */
  readonly id: string | undefined;
  readonly follow: boolean;
};

/** Runs `budgie logs`: prints what the agent of a running turn has printed, and with `follow` the rest until its end. */
export async function showOutput(config: Config, { follow, id }: ShowOutputOptions, host: Host): Promise<number> {
  return interruptible(host, async (signal) => {
    const found = await findLiveRuns(createOwner(config));
    signal.throwIfAborted();
    const { owner, runId } = findLiveRun(found, id);
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
  });
}
