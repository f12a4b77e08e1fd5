import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";

export type KiroAcpSetup = {
  readonly sandbox: boolean;
  /** Lists what exists of sessions on the machine or engine */
  readonly leftovers: (user: BudgieUser) => Promise<readonly string[]>;
  /** Removes what tests keep on purpose */
  readonly cleanUp: (user: BudgieUser) => Promise<void>;
};

const ACP = ["--protocol", "acp"];
const REMEMBER = "Keep the word token-wren. [[say: I will.]]";

/** Describes Kiro over ACP, through the real program. */
export function describeKiroAcp({ cleanUp, leftovers, sandbox }: KiroAcpSetup): void {
  const start = (user: BudgieUser, ...args: readonly string[]) => user.serve({ sandbox, args: [...ACP, ...args] });

  describe("--protocol acp", () => {
    it("has the agent answer with its last message, and names no file for it", async () => {
      await using user = await createBudgieUser();
      const { ask } = await start(user, "--model", "claude-opus-4");

      const { structuredContent } = await ask("shell-worker", { prompt: "[[run: echo work]] [[status]]" });

      const { response } = structuredContent as { response: string };
      expect(structuredContent).toMatchObject({ usage: { credits: 0.01 } });
      expect(structuredContent).not.toHaveProperty("denied");
      expect(JSON.parse(response.slice(response.indexOf("{")))).toMatchObject({
        agent: "shell-worker",
        model: "claude-opus-4",
      });
      const asked = toText(await ask("code-reviewer", { prompt: "Hello" }));
      expect(asked).toContain("You asked: Hello");
      expect(asked).not.toMatch(/response-/);
    });

    it("resumes the conversation in a new process", async () => {
      await using user = await createBudgieUser();
      const { ask } = await start(user, "--warm-idle", "0");
      const { structuredContent } = await ask("code-reviewer", { prompt: REMEMBER });
      const { sessionId } = structuredContent as { sessionId: string };

      expect(toText(await ask("code-reviewer", { sessionId, prompt: "[[recall]]" }))).toBe("token-wren");
    });

    it("refuses the session of the other protocol, with which it goes on", async () => {
      await using user = await createBudgieUser();
      const ids: Record<string, string> = {};
      for (const protocol of ["cli", "acp"]) {
        const args = ["--protocol", protocol, "--keep-sessions"];
        const { ask, client, ended } = await user.start({ sandbox, args });
        const { structuredContent } = await ask("code-reviewer", { prompt: REMEMBER });
        ids[protocol] = (structuredContent as { sessionId: string }).sessionId;
        await client.close();
        await ended;
      }

      for (const [protocol, other] of [
        ["cli", "acp"],
        ["acp", "cli"],
      ] as const) {
        const args = ["--protocol", protocol, "--keep-sessions"];
        const { ask, client, ended } = await user.start({ sandbox, args });
        const refused = toText(await ask("code-reviewer", { sessionId: ids[other], prompt: "[[recall]]" }));
        expect(refused).toContain(`INPUT_INVALID: The session was begun with --protocol "${other}"`);
        const own = await ask("code-reviewer", { sessionId: ids[protocol], prompt: "[[recall]]" });
        expect(toText(own)).toBe("token-wren");
        await client.close();
        await ended;
      }
      await cleanUp(user);
    });

    it("refuses the default agent that Kiro takes for one with a file that it cannot read", async () => {
      await using user = await createBudgieUser();
      const file = { name: "odd", description: "sub-agent: Odd", tools: ["*"], allowedTools: [], unknownKey: 1 };
      writeFileSync(join(user.host.agentsDir, "odd.json"), JSON.stringify(file));
      const { ask } = await start(user);

      const result = await ask("odd", { prompt: "[[write began: yes]] [[say: Done.]]" });

      expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_NOT_FOUND" } });
      expect(toText(result)).toContain('The agent "kiro_default" would have answered in place of "odd".');
      expect(existsSync(join(user.workspace, "began"))).toBe(false);
    });

    it("denies what the agent's file does not allow, and names it", async () => {
      await using user = await createBudgieUser();
      const { ask } = await start(user);

      const { structuredContent } = await ask("reader", { prompt: "[[write began: yes]]" });

      expect(structuredContent).toMatchObject({
        response: "I was not allowed to use fs_write.",
        denied: [expect.stringMatching(/^Writing file: .*began$/)],
      });
      expect(existsSync(join(user.workspace, "began"))).toBe(false);
    });

    it("allows it with --trust-all-tools", async () => {
      await using user = await createBudgieUser();
      const { ask } = await start(user, "--trust-all-tools");

      const { structuredContent } = await ask("reader", { prompt: "[[write began: yes]] [[say: Done.]]" });

      expect(structuredContent).toMatchObject({ response: "Done." });
      expect(structuredContent).not.toHaveProperty("denied");
      expect(existsSync(join(user.workspace, "began"))).toBe(true);
    });

    it("says how to log in without a login", async () => {
      await using user = await createBudgieUser({ login: false });
      const { ask } = await start(user);

      expect(toText(await ask("code-reviewer", { prompt: "Hello" }))).toMatch(/^LOGIN_REQUIRED: .*kiro-cli login/);
    });

    it("explains the errors of Kiro's service", async () => {
      await using user = await createBudgieUser();
      const { ask } = await start(user);

      expect(toText(await ask("code-reviewer", { prompt: "[[fault throttle]]" }))).toMatch(
        /^AGENT_FAILED: Kiro's service gave up the turn of "code-reviewer" \(.*rate limit reached/,
      );
    });

    it("ends a cancelled turn in the middle of a tool, and leaves nothing", async () => {
      const user = await createBudgieUser();
      const { ask, client, ended } = await start(user);
      const cancelling = new AbortController();
      const command = "touch began; tail -f /dev/null";
      const running = ask("shell-worker", { prompt: `[[run: ${command}]]` }, cancelling.signal);
      running.catch(() => undefined);
      await waitFor(() => existsSync(join(user.workspace, "began")));

      cancelling.abort();
      await expect(running).rejects.toThrow();
      await client.close();
      await ended;

      expect(await leftovers(user)).toEqual([]);
      await user[Symbol.asyncDispose]();
    });
  });
}
