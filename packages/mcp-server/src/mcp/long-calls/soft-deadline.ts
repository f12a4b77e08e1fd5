import type { Implementation } from "@modelcontextprotocol/sdk/types.js";
import { CAPPED_CLIENTS } from "./capped-clients.ts";

/** When a call is answered though its agent has not finished: in milliseconds, or by what the client is known to bear. */
export type SoftDeadline = number | "auto" | "never";

/** The soft deadline of a client's calls in milliseconds; `undefined` where there is none. */
export function toSoftDeadlineMs(setting: SoftDeadline, client: Implementation | undefined): number | undefined {
  if (setting === "never") return undefined;
  if (setting !== "auto") return setting;
  return CAPPED_CLIENTS.find(({ name }) => name.test(client?.name ?? ""))?.deadlineMs;
}
