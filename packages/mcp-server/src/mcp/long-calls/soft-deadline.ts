import type { SoftDeadline } from "../../config/tool-options.ts";
import type { Implementation } from "@modelcontextprotocol/sdk/types.js";

/** The soft deadline of a client's calls in milliseconds; `undefined` where there is none. */
export function toSoftDeadlineMs(setting: SoftDeadline, client: Implementation | undefined): number | undefined {
  if (setting === "never") return undefined;
  if (setting !== "auto") return setting;
  return CLIENT_TIMEOUTS.find(({ name }) => name.test(client?.name ?? ""))?.deadlineMs;
}

/** A client that gives up on a call after some time, whatever it is told meanwhile. */
type ClientTimeout = {
  /** What it calls itself in `clientInfo` */
  readonly name: RegExp;
  /** Before it gives up */
  readonly deadlineMs: number;
};

const BEFORE_A_MINUTE = 50_000;
const BEFORE_FIVE_MINUTES = 240_000;

/**
 * Clients that are known to give up, by what they are known to call themselves; docs/long-calls.md has the evidence. Those
 * whose patience begins anew with every progress are not among them, nor those that wait for longer than an agent may take.
 */
const CLIENT_TIMEOUTS: readonly ClientTimeout[] = [
  // Claude Desktop: 60 s, for all servers and not to be changed (anthropics/claude-code#22542, name in abhishekbhakat/airflow-mcp-server#20).
  { name: /^claude-ai$/, deadlineMs: BEFORE_A_MINUTE },
  // The same program's Cowork and Code: 60 s (anthropics/claude-code#63379, #43791); the rest of the name is the server's.
  { name: /^local-agent-mode-/, deadlineMs: BEFORE_A_MINUTE },
  // 60 s unless configured (zed-industries/zed#45378, #32668).
  { name: /^Zed$/, deadlineMs: BEFORE_A_MINUTE },
  // 60 s unless configured (cline/cline#12576).
  { name: /^Cline$/, deadlineMs: BEFORE_A_MINUTE },
  // GitHub's Copilot CLI: 60 s whatever is configured (github/copilot-cli#1535), or 180 s once the tools changed (#1378).
  { name: /^github-copilot-developer$/, deadlineMs: BEFORE_A_MINUTE },
  // Codex: 300 s unless configured (openai/codex#28234), progress or not.
  { name: /^codex-mcp-client$/, deadlineMs: BEFORE_FIVE_MINUTES },
  // Cursor: 300 s (cursor/cursor#3510, name in modelcontextprotocol/csharp-sdk#344).
  { name: /^cursor-vscode$/, deadlineMs: BEFORE_FIVE_MINUTES },
];
