import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

type Setting = {
  readonly sandbox: boolean;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

const WORKER = `---
description: "sub-agent: Runs commands"
tools: Read, Write, Bash
permissions:
  rules:
    - { capability: filesystem, effect: allow }
    - { capability: shell, effect: allow }
hooks:
  - { trigger: agentSpawn, action: { type: command, command: "echo spawned >>$HOME/hooks.txt" } }
color: blue
---
You run commands.
`;

/** Describes that Kiro's V2 harness, which reads no Markdown, runs Markdown agents. */
export function describeMarkdownAgents(name: string, { sandbox, ...options }: Setting): void {
  describe(name, () => {
    it("works, may do what its rules allow, and resumes", async () => {
      await using user = await createBudgieUser();
      write(user, "team/worker.md", WORKER);
      const { ask } = await user.serve({ ...options, sandbox });

      const first = await ask("team-worker", {
        prompt: "[[run: echo token-finch >found.txt; cat found.txt $HOME/hooks.txt]]",
      });
      const { sessionId } = first.structuredContent ?? {};
      const second = await ask("team-worker", { prompt: "[[recall]]", sessionId });

      expect(toText(first)).toBe("token-finch\nspawned");
      expect(first.structuredContent).toMatchObject({ agent: "team/worker" });
      expect(first.structuredContent).not.toHaveProperty("denied");
      expect(toText(second)).toBe("token-finch");
    });

    it("may not do what its rules deny, even if all tools are trusted", async () => {
      await using user = await createBudgieUser();
      write(user, "reader.md", WORKER.replace("capability: shell, effect: allow", "capability: shell, effect: deny"));
      const args = [...(options.args ?? []), "--trust-all-tools"];
      const { ask } = await user.serve({ ...options, args, sandbox });

      const answer = await ask("reader", { prompt: "[[run: echo token-finch]]" });

      expect(toText(answer)).not.toContain("token-finch");
    });

    it("finds a prompt beside its file", async () => {
      await using user = await createBudgieUser();
      const agent = { description: "sub-agent: Reads", prompt: "file://../prompt.md", allowedTools: ["*"] };
      write(user, "team/reader.json", JSON.stringify(agent));
      write(user, "prompt.md", "You read.\n");
      const { ask } = await user.serve({ ...options, sandbox });

      const answer = await ask("team-reader", { prompt: "[[say: Found.]]" });

      expect(toText(answer)).toBe("Found.");
    });
  });
}

function write({ host }: BudgieUser, path: string, content: string): void {
  const file = join(host.agentsDir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
