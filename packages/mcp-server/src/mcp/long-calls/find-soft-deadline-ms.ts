import type { SoftDeadline } from "../../config/naming-options.ts";
import type { Implementation } from "@modelcontextprotocol/sdk/types.js";

/** Returns the soft deadline of a client's calls in milliseconds; `undefined` if there is none. */
export function findSoftDeadlineMs(setting: SoftDeadline, client: Implementation | undefined): number | undefined {
  if (setting === "never") return undefined;
  if (setting !== "auto") return setting;
  return CLIENT_TIMEOUTS.find(({ name }) => name.test(client?.name ?? ""))?.deadlineMs;
}

/** A client that times calls out regardless of progress notifications. */
type ClientTimeout = {
  /** Matches `clientInfo.name` */
  readonly name: RegExp;
  /** The soft deadline, shorter than the client's timeout */
  readonly deadlineMs: number;
};

const BEFORE_TWENTY_SECONDS = 15_000;
const BEFORE_A_MINUTE = 50_000;
const BEFORE_FIVE_MINUTES = 240_000;

/**
 * Clients with a known timeout, by their `clientInfo` names; docs/long-calls.md has the evidence. Clients that restart their
 * timeout at each progress notification are not listed, nor those whose timeout is longer than a turn.
 */
const CLIENT_TIMEOUTS: readonly ClientTimeout[] = [
  // The Java SDK: 20 s unless `requestTimeout` is set, without a cancellation.
  { name: /^Java SDK MCP Client$/, deadlineMs: BEFORE_TWENTY_SECONDS },
  // Claude Desktop: 60 s for all servers, not configurable (anthropics/claude-code#22542, name in abhishekbhakat/airflow-mcp-server#20).
  { name: /^claude-ai$/, deadlineMs: BEFORE_A_MINUTE },
  // The same program's Cowork and Code: 60 s (anthropics/claude-code#63379, #43791); the rest of the name is the server's.
  { name: /^local-agent-mode-/, deadlineMs: BEFORE_A_MINUTE },
  // 60 s unless configured (zed-industries/zed#45378, #32668).
  { name: /^Zed$/, deadlineMs: BEFORE_A_MINUTE },
  // 60 s unless configured (cline/cline#12576).
  { name: /^Cline$/, deadlineMs: BEFORE_A_MINUTE },
  // GitHub's Copilot CLI: 60 s whatever is configured (github/copilot-cli#1535), or 180 s once the tools changed (#1378).
  // It was once called otherwise.
  { name: /^(?:copilot-cli|github-copilot-developer)$/, deadlineMs: BEFORE_A_MINUTE },
  // Codex: 300 s unless configured (openai/codex#28234), progress or not.
  { name: /^codex-mcp-client$/, deadlineMs: BEFORE_FIVE_MINUTES },
  // Cursor: 300 s (cursor/cursor#3510, name in modelcontextprotocol/csharp-sdk#344).
  { name: /^cursor-vscode$/, deadlineMs: BEFORE_FIVE_MINUTES },
];
