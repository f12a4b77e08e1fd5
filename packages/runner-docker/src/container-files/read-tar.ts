import type { Readable } from "node:stream";
import type { BudgieError } from "@budgie/core";
import { extract } from "tar-stream";

/** Reads the entries of an engine's archive, and throws the error of `endedEarly` if it ends before its end. */
export function readTar(archive: Readable, endedEarly: () => BudgieError): ReturnType<typeof extract> {
  const entries = archive.pipe(extract());
  archive.once("error", (error) => entries.destroy(error));
  let isWhole = false;
  archive.once("end", () => (isWhole = true));
  archive.once("close", () => {
    if (!isWhole) entries.destroy(endedEarly());
  });
  return entries;
}
