import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createSessionId } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import {
  createWorkspaceCopies,
  type CollectChanges,
  type CopiesOptions,
} from "../../src/copying/create-workspace-copies.ts";
import { createTree } from "./create-tree.ts";

const WISHES = { files: "unignored", include: [], worktreeInclude: false, exclude: [] } as const;
const NO_GIT = { configs: [], excludes: "/nonexistent", home: "/nonexistent" };

/** Opens the copies of a directory of its own, on a copy that keeps what fills it. */
export function openPlace(files: Record<string, string> = {}, collect?: CollectChanges) {
  const directory = createTree({ "a.txt": "a", "b.log": "", ".gitignore": "*.log", ".git/HEAD": "", ...files });
  return { ...open(directory, { collect }), directory };
}

/** Opens the copies of a directory. */
export function open(directory: string, hooks: Pick<CopiesOptions, "collect" | "settle"> = {}) {
  const fills: { id: string; readonly paths: readonly string[]; readonly texts: ReadonlyMap<string, string> }[] = [];
  const copy: WorkspaceCopy = {
    fillId: async () => fills.at(-1)?.id,
    async fill(entries) {
      const texts = new Map<string, string>();
      for await (const { content = Buffer.of(), entry } of entries) {
        texts.set(entry.path, Buffer.isBuffer(content) ? content.toString() : await text(content));
      }
      fills.push({ id: `fill ${fills.length}`, paths: [...texts.keys()], texts });
      return `fill ${fills.length - 1}`;
    },
    read: () => {
      throw new Error("Nothing reads it here.");
    },
  };
  const folder = join(createTree({}), "bases");
  const copies = createWorkspaceCopies({ folder, wishes: WISHES, userGit: NO_GIT, ...hooks });
  return { copies, copy, fills, folder, turn: { sessionId: createSessionId(), runId: "1", agent: "a", directory } };
}
