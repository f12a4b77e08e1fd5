import { basename, dirname, join } from "node:path";
import type { Agent } from "../agents/agent.ts";
import type { Projection } from "../runner/runner.ts";

/** What every agent of a user's is shown of their `~/.kiro`. */
export function toSharedProjections(home: string, promptsDir: string): readonly Projection[] {
  const toProjection = (source: string, child: string): Projection => ({ source, home: `.kiro/${child}` });
  return [
    ...["prompts", "steering", "skills"].map((child) => toProjection(join(home, ".kiro", child), child)),
    toProjection(promptsDir, "sub-agents/prompts"),
  ];
}

/** Of the agents' folder, only this agent's own files: the others' may hold secrets of theirs. */
export function toAgentProjections({ file, promptFile }: Pick<Agent, "file" | "promptFile">): readonly Projection[] {
  const own: Projection = { source: file, home: `.kiro/agents/${basename(file)}` };
  if (promptFile === undefined) return [own];
  const folder = `${dirname(file)}/`;
  const beside = promptFile.startsWith(folder) ? `.kiro/agents/${promptFile.slice(folder.length)}` : undefined;
  return [own, { source: promptFile, home: beside }];
}
