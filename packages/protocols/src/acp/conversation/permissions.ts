import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { formatTitle } from "../answer/answer.ts";
import type { PermissionPolicy } from "./acp-program.ts";

/** The answers to an agent's requests for permission. */
export type Permissions = {
  /** Answers a request at once, for any session: an agent's own sub-agents ask under ids that budgie does not know. */
  readonly answer: (request: RequestPermissionRequest) => RequestPermissionResponse;
  /** Takes the titles of the tools that were denied since the last call. */
  readonly takeDenied: () => readonly string[];
  /** Answers all further requests with `cancelled`, and does not record them as denied. */
  readonly cancel: () => void;
};

const KINDS = { allow: ["allow_once", "allow_always"], deny: ["reject_once", "reject_always"] } as const;
const MOST_DENIED = 100;

/** Creates the answers of a policy. Options are chosen by kind, since their order means nothing. */
export function createPermissions(policy: PermissionPolicy): Permissions {
  let denied: string[] = [];
  let isCancelled = false;
  return {
    answer({ options, toolCall }) {
      const kinds = isCancelled ? [] : KINDS[policy];
      const chosen = kinds.map((kind) => options.find((option) => option.kind === kind)).find(Boolean);
      const isAllowed = policy === "allow" && chosen !== undefined;
      if (!isAllowed && !isCancelled && denied.length < MOST_DENIED)
        denied.push(formatTitle(toolCall.title ?? toolCall.toolCallId));
      if (chosen === undefined) return { outcome: { outcome: "cancelled" } };
      return { outcome: { outcome: "selected", optionId: chosen.optionId } };
    },
    takeDenied() {
      const taken = denied;
      denied = [];
      return taken;
    },
    cancel() {
      isCancelled = true;
    },
  };
}
