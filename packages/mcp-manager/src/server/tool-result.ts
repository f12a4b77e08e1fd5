import { isRecord } from "@budgie/core/bounds";
import { z } from "zod";
import { BudgieError } from "@budgie/core";

/** The result of a tool. Its parts are as the server sent them. */
export type ToolResult = {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  /** True if the tool says that it failed */
  readonly isError: boolean;
};

const MOST_PARTS = 1000;

const resultSchema = z.looseObject({ content: z.array(z.unknown()).default([]) });

/** Reads the result of a call. Throws `RUNNER_UNAVAILABLE` if it is not valid MCP. */
export function toToolResult(server: string, result: Readonly<Record<string, unknown>>): ToolResult {
  const { data } = resultSchema.safeParse(result);
  const content = data?.content ?? [];
  if (data === undefined || content.length > MOST_PARTS || !content.every(isPart)) {
    const message = `The MCP server "${server}" returned a result that is not valid MCP.`;
    throw new BudgieError("RUNNER_UNAVAILABLE", message);
  }
  const { isError, structuredContent } = result;
  return {
    content,
    ...(isRecord(structuredContent) ? { structuredContent } : {}),
    isError: isError === true,
  };
}

function isPart(part: unknown): part is Readonly<Record<string, unknown>> {
  return isRecord(part) && typeof part["type"] === "string";
}
