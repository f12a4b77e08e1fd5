import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findAgentFiles, listSharedProjections } from "@budgie/protocols/kiro";
import { loadAgents } from "@budgie/core";
import { createTemporaryFolder } from "../../../core/test/helpers/temporary-folder.ts";

type Fields = { readonly prompt?: string; readonly resources?: readonly unknown[] };

/** Creates a user's home with these files below `.kiro`, and an agent "a" in its folder `agents`, or another. */
export function createUser(...names: readonly string[]) {
  const home = createTemporaryFolder();
  const promptsDir = join(home, ".kiro/sub-agents/prompts");
  const write = (name: string, text: string): void => {
    const path = join(home, ".kiro", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const name of names) write(name, "");
  return {
    home,
    write,
    find(fields: Fields, folder = "agents") {
      const agentsDir = join(home, ".kiro", folder);
      write(`${folder}/a.json`, JSON.stringify({ name: "a", description: "sub-agent: A", ...fields }));
      const agent = loadAgents({ agentsDir, promptsDir }).agents.find(({ name }) => name === "a");
      if (agent === undefined) throw new Error("The agent was not loaded.");
      return findAgentFiles(agent, { home, shared: listSharedProjections(home, promptsDir) });
    },
    /** Lists the files below `.kiro`, without the agent's own, that the agent finds there. */
    toShown: (projections: ReturnType<typeof findAgentFiles>["projections"]) =>
      projections.slice(1).flatMap(({ home: below }) => below?.replace(".kiro/", "") ?? []),
  };
}
