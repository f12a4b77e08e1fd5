import type { SoftDeadline } from "../../config/tool-options.ts";
import type { Implementation } from "@modelcontextprotocol/sdk/types.js";
import { CAPPED_CLIENTS } from "./capped-clients.ts";

/** The soft deadline of a client's calls in milliseconds; `undefined` where there is none. */
export function toSoftDeadlineMs(setting: SoftDeadline, client: Implementation | undefined): number | undefined {
  if (setting === "never") return undefined;
  if (setting !== "auto") return setting;
  return CAPPED_CLIENTS.find(({ name }) => name.test(client?.name ?? ""))?.deadlineMs;
}
