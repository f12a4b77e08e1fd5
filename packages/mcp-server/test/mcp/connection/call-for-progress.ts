import type { CallToolResult, Progress } from "@modelcontextprotocol/sdk/types.js";
import type { Served } from "../../../../cli/test/helpers/start-budgie.ts";

/** A call, and the progress that its client received. */
type FollowedCall = {
  readonly answer: Promise<CallToolResult>;
  readonly told: readonly Progress[];
  readonly isOver: () => boolean;
};

export type FollowedOptions = { readonly agent?: string; readonly sessionId?: unknown; readonly signal?: AbortSignal };

/** Makes calls of a client that requests progress. */
export function callForProgress({ client }: Served, directory: string) {
  return (prompt: string, { agent = "shell-worker", sessionId, signal }: FollowedOptions = {}): FollowedCall => {
    const told: Progress[] = [];
    let isOver = false;
    const request = { name: `kiro-subagents.${agent}`, arguments: { prompt, directory, sessionId } };
    const answer = client.callTool(request, undefined, {
      timeout: 200_000,
      onprogress: (progress) => void told.push(progress),
      ...(signal === undefined ? {} : { signal }),
    }) as Promise<CallToolResult>;
    const end = (): void => void (isOver = true);
    answer.then(end, end);
    return { answer, told, isOver: () => isOver };
  };
}
