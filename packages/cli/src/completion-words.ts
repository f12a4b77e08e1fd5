import { loadAgents } from "@budgie/core";
import { createSessionRegister } from "@budgie/store";
import { AGENT_PRESET_NAMES } from "./agents/agent-presets.ts";
import type { Config } from "./config/config.ts";
import { ago } from "./terminal/ago.ts";
import { shortId } from "./terminal/expand-id.ts";
import type { CompletionWords, Word } from "./commands/completion.ts";
import { CLIENT_NAMES } from "./commands/install/clients.ts";
import { withRunArchive } from "./commands/runs/with-run-archive.ts";

const MOST_RUNS = 50;

/** Creates the lists of words that complete arguments and values of options. */
export function completionWords(config: () => Config): CompletionWords {
  const runs = (isLive: boolean) => async (): Promise<readonly Word[]> => {
    const recent = await withRunArchive(config(), (archive) => archive.recent({ limit: MOST_RUNS }));
    const shown = isLive ? recent.filter(({ outcome }) => outcome === "running") : recent;
    return shown.map(({ agent, id, outcome, startedMs }) => [shortId(id), `${agent}, ${outcome}, ${ago(startedMs)}`]);
  };
  return {
    agent: () => loadAgents(config()).agents.map(({ name }) => [name]),
    client: () => CLIENT_NAMES.map((name) => [name]),
    preset: () => AGENT_PRESET_NAMES.map((name) => [name]),
    with: () => AGENT_PRESET_NAMES.map((name) => [name]),
    run: runs(false),
    "show id": runs(false),
    "logs run": runs(true),
    "stop run": runs(true),
    async change() {
      const { createChangeSets } = await import("@budgie/copies/sets");
      const sets = createChangeSets({ stateDir: config().stateDir });
      try {
        const words = await sets.list();
        return words.map(({ agent, createdMs, id, state }) => [shortId(id), `${agent}, ${state}, ${ago(createdMs)}`]);
      } finally {
        sets.close();
      }
    },
    async session() {
      const register = createSessionRegister({ stateDir: config().stateDir, report: () => undefined });
      try {
        const sessions = await register.list();
        return sessions.map(({ agent, id, usedMs }) => [shortId(id), `${agent}, used ${ago(usedMs)}`]);
      } finally {
        register.close();
      }
    },
  };
}
