import { createHash } from "node:crypto";
import { z } from "zod";
import { createJsonScan, isRecord, JSON_BOUNDS } from "@budgie/core/bounds";
import { cleanLine, cleanText } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";

/** A tool of a server, without invisible characters. */
export type McpTool = {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
};

export type ToolList = {
  /** Sorted by name */
  readonly tools: readonly McpTool[];
  /** Each tool that was left out, and the reason */
  readonly problems: readonly string[];
};

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().max(4096).optional() });

/** Sends `tools/list`, and returns the result, parsed by the schema. */
type AskPage = (cursor: string | undefined, schema: typeof pageSchema) => Promise<z.infer<typeof pageSchema>>;

/** Lists all tools of a server, page by page. Leaves out tools that are not usable. Throws if they are too many, or too large together. */
export async function listTools(ask: AskPage): Promise<ToolList> {
  const found = new Map<string, McpTool>();
  const problems: string[] = [];
  let cursor: string | undefined;
  const toTool = createToolReader();
  for (let page = 1; page <= LIMITS.pages; page += 1) {
    const { nextCursor, tools } = await ask(cursor, pageSchema);
    for (const value of tools.slice(0, LIMITS.tools + 1 - found.size)) {
      const tool = toTool(value);
      if (typeof tool === "string") problems.push(tool);
      else if (found.has(tool.name)) problems.push(`it has two tools "${tool.name}", of which the first counts`);
      else found.set(tool.name, tool);
    }
    if (found.size > LIMITS.tools) throw new Error(`it has more than ${LIMITS.tools} tools`);
    // A server may return the same page forever.
    if (nextCursor === undefined || nextCursor === cursor) break;
    if (page === LIMITS.pages) throw new Error(`its list of tools has more than ${LIMITS.pages} pages`);
    cursor = nextCursor;
  }
  const tools = [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { tools, problems: problems.slice(0, LIMITS.pages) };
}

// Other names are possible, but each client rewrites them in its own way.
const NAME = /^[A-Za-z0-9_./-]+$/;

/** Creates a function that reads one tool after the other, and throws if they are too large together: all are kept. */
function createToolReader(): (value: unknown) => McpTool | string {
  const scan = createJsonScan({ ...JSON_BOUNDS, values: LIMITS.toolValues });
  let size = 0;
  return (value) => {
    const text = parseName(value);
    if (text.problem !== undefined) return text.problem;
    size += text.json.length;
    if (size > LIMITS.allToolsSize) throw new Error("its tools are too large together");
    try {
      scan(Buffer.from(text.json));
    } catch (error) {
      throw new Error(`its tools have ${(error as RangeError).message} together`, { cause: error });
    }
    // A model also reads the descriptions inside schemas.
    return JSON.parse(text.json, (_, inner: unknown) =>
      typeof inner === "string" ? cleanText(inner, inner.length) : inner,
    ) as McpTool;
  };
}

type ToolText = { readonly json: string; readonly problem?: undefined } | { readonly problem: string };

function parseName(value: unknown): ToolText {
  const name = isRecord(value) ? value["name"] : undefined;
  if (!isRecord(value) || typeof name !== "string") return { problem: "it has a tool without a name" };
  if (name.length > LIMITS.name || !NAME.test(name)) {
    const problem = `its tool "${cleanLine(name, 64)}" has a name that is not of 1 to ${LIMITS.name} letters, digits and _./-`;
    return { problem };
  }
  const json = toJson({ name, ...pickFields(value) });
  if (json === undefined || json.length > LIMITS.toolSize)
    return { problem: `its tool "${name}" has a schema that is too large` };
  return { json };
}

/** Returns the fields of a tool besides its name, without those of the wrong type. */
function pickFields({ annotations, description, inputSchema, outputSchema, title }: Readonly<Record<string, unknown>>) {
  return {
    description: typeof description === "string" ? cleanText(description, LIMITS.description) : "",
    inputSchema: isRecord(inputSchema) ? inputSchema : { type: "object" },
    ...(typeof title === "string" ? { title: cleanLine(title, LIMITS.name) } : {}),
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations } : {}),
  };
}

/** Returns JSON; `undefined` for a value that is nested too deeply. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns a hash of all that a model reads of these tools. It does not depend on their order. */
export function hashTools(tools: readonly McpTool[]): string {
  const sorted = tools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const text = JSON.stringify(sorted, (_, value: unknown) => (isRecord(value) ? sortKeys(value) : value));
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function sortKeys(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
