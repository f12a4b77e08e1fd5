import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import type { Settings } from "../profile/settings.ts";
import { listAgentFiles } from "./load-agents.ts";
import { toTexts } from "./kiro-agent.ts";
import { toHookList } from "./read-agent-file.ts";

/**
 * Rewrites the JSON files of V2 as a start of V3 does: keeps a `.json.bak`, adds `permissions`, and makes `hooks` a list. Passes over files
 * that it cannot read or write.
 */
export function upgradeAgents(settings: Settings): void {
  for (const { file } of listAgentFiles(settings).filter(({ file }) => file.endsWith(".json"))) {
    try {
      upgrade(file);
    } catch {
      continue;
    }
  }
}

function upgrade(file: string): void {
  const fields = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
  if (fields["permissions"] !== undefined) return;
  const allowed = toTexts(fields["allowedTools"]).flatMap((tool) => CAPABILITIES[tool] ?? []);
  const permissions = { rules: allowed.map((capability) => ({ capability, effect: "allow" })) };
  const hooks = fields["hooks"] === undefined ? {} : { hooks: toHookList(fields["hooks"]) };
  copyFileSync(file, `${file}.bak`);
  writeFileSync(file, `${JSON.stringify({ ...fields, ...hooks, permissions }, undefined, 2)}\n`);
}

const CAPABILITIES: Readonly<Record<string, string>> = {
  fs_read: "fs_read",
  fs_write: "fs_write",
  execute_bash: "shell",
};
