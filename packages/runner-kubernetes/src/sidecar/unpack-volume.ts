import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import { createTail } from "@budgie/core/protocol";
import { formatWords } from "@budgie/sandbox/records";

/** A program of the image, and the folder that it fills or reads. */
export type CopiedFolder = { readonly copier: string; readonly folder: string };

const LIMIT_MS = 3_600_000;
const MOST_SAID = 300;

/** Has the copier fill an empty folder with records. Rejects unless it says that all are there. */
export async function unpackVolume(where: CopiedFolder, records: Readable): Promise<void> {
  const run = start("unpack", where);
  let answer = "";
  run.child.stdout.on("data", (said: Buffer) => {
    if (answer.length < MOST_SAID) answer += said.toString("latin1");
  });
  // Without records it waits for none, and its own words say more than a pipe that breaks.
  // The copier ends at the last record, perhaps before the stream does, which must not be destroyed for that.
  const pieces = records.iterator({ destroyOnReturn: false });
  const filling = pipeline(pieces, run.child.stdin).catch(() => run.child.kill("SIGKILL"));
  await run.ended;
  if (answer !== "done\n") throw run.failed("filled");
  await filling;
}

/** Has the copier print the records of a folder. */
export async function packVolume(where: CopiedFolder, records: Writable): Promise<void> {
  const run = start("pack", where);
  run.child.stdin.end();
  try {
    await pipeline(run.child.stdout, records, { end: false });
  } finally {
    run.child.kill("SIGKILL");
  }
  if ((await run.ended) !== 0) throw run.failed("read");
}

function start(verb: "pack" | "unpack", { copier, folder }: CopiedFolder) {
  const child = spawn(copier, ["copy", verb, folder], {
    env: {},
    stdio: ["pipe", "pipe", "pipe"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const words = createTail(MOST_SAID);
  child.stderr.on("data", (said: Buffer) => words.add(said));
  child.stdin.on("error", () => undefined);
  let code: number | null = null;
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("exit", (exitCode) => (code = exitCode));
    child.once("close", () => resolve(code));
  });
  const failed = (what: "filled" | "read"): BudgieError => {
    const said = formatWords(words.chunks());
    const why = said === "" ? "" : `: the copier said ${JSON.stringify(said)}`;
    return new BudgieError("RUNNER_UNAVAILABLE", `A volume of the Pod could not be ${what}${why}. Ask again.`);
  };
  return { child, ended, failed };
}
