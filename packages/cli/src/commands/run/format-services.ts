import type { ResourceUse } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { shortId } from "../../terminal/expand-id.ts";

type Run = Pick<ResourceUse, "services"> & { readonly runId: string };

/** Returns a line for each turn with services beside it, which names them with their memory; empty for none. */
export function formatServices(runs: readonly Run[]): string {
  return runs
    .filter(({ services = [] }) => services.length > 0)
    .map(({ runId, services = [] }) => `Beside ${shortId(runId)}: ${services.map(formatService).join(", ")}.\n`)
    .join("");
}

function formatService({ memoryBytes, name }: NonNullable<ResourceUse["services"]>[number]): string {
  return `${escapeForTerminal(name)} (${formatMemory(memoryBytes)})`;
}

/** Returns an amount of memory as `budgie ps` shows it. */
export function formatMemory(bytes: number | undefined): string {
  return bytes === undefined ? "-" : `${Math.ceil(bytes / 1024 ** 2)} MB`;
}
