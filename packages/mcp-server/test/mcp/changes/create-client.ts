import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import { openFileTrust } from "@budgie/core/policy";
import type { FoundEntry } from "@budgie/core/copies";
import { createChangeSets } from "@budgie/copies/sets";
import { buildChangeTools, type ChangeToolsOptions } from "../../../src/mcp/changes/build-change-tools.ts";
import { createChangeTools } from "../../../src/mcp/changes/change-tools.ts";

export const MINE = "7b6c3f0e-4a1f-4f0c-9c53-5f6b8f1a2d3e";
export const OTHERS = "11111111-4a1f-4f0c-9c53-5f6b8f1a2d3e";

const REPORT = { entries: 1, bytes: 4, leftOut: [], notes: [] };

const NAMING = { tools: "agents", toolNames: "dotted", toolPrefix: "b." } as const;

/** Calls a tool by its name without the prefix. */
export type Call = (name: string, input?: unknown) => Promise<CallToolResult>;

/** Creates a client's tools, and a way to collect change sets in a directory with `a.txt`. */
export function createClient({
  apply = "caller",
  areListed = true,
}: { apply?: ChangeToolsOptions["apply"]; areListed?: boolean } = {}) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "budgie-changes-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const directory = join(top, "work");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.txt"), "one\n");
  const digest = createHash("sha256").update("one\n").digest("hex");
  const base = { entries: [{ path: "a.txt", kind: "file", mode: 0o644, size: 4, digest } as const] };
  const sets = createChangeSets({ stateDir: top });
  onTestFinished(sets.close);
  const owner = createOwner({ stateDir: top });
  onTestFinished(() => owner.release());
  const trust = openFileTrust(top, String);
  const tools = createChangeTools({
    tools: buildChangeTools({ ...NAMING, apply }),
    isAsked: apply === "ask",
    areListed: () => areListed,
    openSets: async () => sets,
    bases: { load: async () => ({ fillId: "1", directory, report: REPORT, tips: [], manifest: base, startedMs: 0 }) },
    owner,
    fileTrust: trust,
    isOwn: (sessionId) => sessionId === MINE,
  });
  const call: Call = async (name, input = {}) => (await tools.call(`b.${name}`, input, {})) ?? { content: [] };

  async function collect(sessionId: string, files: Readonly<Record<string, string>>): Promise<string> {
    async function* copy(): AsyncIterable<FoundEntry> {
      for (const [path, text] of Object.entries(files)) {
        const size = Buffer.byteLength(text);
        yield { entry: { path, kind: "file", mode: 0o644, size }, content: Readable.from([Buffer.from(text)]) };
      }
    }
    const stored = await sets.collect({ base, read: copy, sessionId, agent: "worker", directory });
    return stored?.id ?? "";
  }

  return { call, collect, directory, tools, trust };
}

/** Reads all pages of a set, and returns the token of the last. */
export async function readAll(call: Call, changeId: string): Promise<unknown> {
  const first = await call("changes", { changeId });
  const pages = Number(first.structuredContent?.["pages"]);
  const last = await call("changes", { changeId, page: pages });
  return last.structuredContent?.["reviewToken"];
}
