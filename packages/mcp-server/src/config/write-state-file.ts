import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { BudgieError } from "@budgie/core";
import { replaceFile } from "@budgie/core/text";

/** Writes JSON into a file of the state directory, in place of what it had. Throws `CONFIG_INVALID` if that fails. */
export function writeStateFile(file: string, content: unknown): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    replaceFile(file, JSON.stringify(content));
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new BudgieError("CONFIG_INVALID", `Cannot write "${file}": ${reason}.`, { cause });
  }
}
