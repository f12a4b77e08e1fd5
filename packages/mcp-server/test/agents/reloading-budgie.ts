import { existsSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBudgieUser, waitFor, type Budgie, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

/** A budgie whose tools a client has listed, and its agents' files. */
export type ReloadingBudgie = AsyncDisposable & {
  readonly user: BudgieUser;
  readonly budgie: Budgie;
  /** Writes an agent's file, with any content */
  readonly write: (file: string, content: unknown) => void;
  readonly writePrompt: (agent: string, text: string) => void;
  /** The tools, without the prefix of their names */
  readonly list: () => Promise<readonly string[]>;
  readonly describe: (agent: string) => Promise<string | undefined>;
  /** Number of received notifications */
  readonly told: () => number;
  /** Waits for the next notification after this number */
  readonly toldMore: (than: number) => Promise<void>;
  /** Waits until budgie has processed the changes */
  readonly quiet: () => Promise<void>;
  /** The lines on stderr about a file or a tool */
  readonly warnings: (of: string) => readonly string[];
};

type Options = {
  readonly args?: readonly string[];
  readonly prepare?: (user: BudgieUser) => void;
};

export async function createReloadingBudgie({ args = [], prepare }: Options = {}): Promise<ReloadingBudgie> {
  const user = await createBudgieUser();
  prepare?.(user);
  // Makes budgie poll the files every 20 ms, instead of every 2 s.
  const hurry = {
    NODE_OPTIONS: `--import ${new URL("../../../cli/test/fixtures/quick-intervals.mjs", import.meta.url).href}`,
  };
  const budgie = await user.start({ args, env: hurry });
  await budgie.client.listTools();
  const told = (): number => budgie.lines.filter((line) => line.includes("notifications/tools/list_changed")).length;
  const list = async () => (await budgie.client.listTools()).tools;
  // budgie may read at any moment, and would see half of a file that is written in place.
  function replace(path: string, content: string): void {
    const whole = join(user.host.home, "being-written");
    writeFileSync(whole, content);
    renameSync(whole, existsSync(path) ? realpathSync(path) : path);
  }
  const quiet = (): Promise<void> => new Promise((wake) => setTimeout(wake, 1_000));
  return {
    user,
    budgie,
    write(file, content) {
      replace(join(user.host.agentsDir, file), typeof content === "string" ? content : JSON.stringify(content));
    },
    writePrompt: (agent, text) => replace(join(user.host.promptsDir, `${agent}.md`), text),
    list: async () => (await list()).map(({ name }) => name.replace("kiro-subagents.", "")),
    async describe(agent) {
      return (await list()).find(({ name }) => name === `kiro-subagents.${agent}`)?.description;
    },
    told,
    async toldMore(than) {
      await waitFor(() => told() > than);
    },
    quiet,
    warnings: (of) =>
      budgie
        .stderr()
        .split("\n")
        .filter((line) => line.includes(of)),
    [Symbol.asyncDispose]: () => user[Symbol.asyncDispose](),
  };
}

/** Returns the content of a sub-agent's file. */
export function toAgent(name: string, description = `About ${name}`): Readonly<Record<string, unknown>> {
  const tools = ["fs_read", "fs_write"];
  return { name, description: `sub-agent: ${description}`, prompt: `You are ${name}.`, tools, allowedTools: tools };
}
