import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createBudgieUser,
  toText,
  waitFor,
  type Budgie,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";

export type RestartSetup = {
  readonly sandbox: boolean;
  /** Lists what exists of sessions on the machine or engine */
  readonly leftovers: (user: BudgieUser) => Promise<readonly string[]>;
  /** Removes what tests keep on purpose */
  readonly cleanUp: (user: BudgieUser) => Promise<void>;
};

const KEEP = ["--keep-sessions"];
const REMEMBER = "Keep the word token-finch.";

/** Describes sessions across successive budgies, through the real program. */
export function describeRestarts({ cleanUp, leftovers, sandbox }: RestartSetup): void {
  async function createUser(): Promise<BudgieUser> {
    const user = await createBudgieUser();
    return {
      ...user,
      async [Symbol.asyncDispose]() {
        await user[Symbol.asyncDispose]();
        await cleanUp(user);
      },
    };
  }

  async function begin(budgie: Budgie, prompt = REMEMBER): Promise<string> {
    const answer = await budgie.ask("code-reviewer", { prompt });
    expect(answer.isError, toText(answer)).not.toBe(true);
    return String(answer.structuredContent?.["sessionId"]);
  }

  async function end({ child, ended }: Budgie, signal?: NodeJS.Signals): Promise<void> {
    if (signal === undefined) child.stdin?.end();
    else child.kill(signal);
    await ended;
  }

  describe("a kept session", () => {
    it("is resumed in the next budgie with its conversation, any number of times", async () => {
      await using user = await createUser();
      const first = await user.start({ sandbox, args: KEEP });
      const sessionId = await begin(first);
      await end(first);
      const second = await user.start({ sandbox, args: KEEP });
      const again = await second.ask("code-reviewer", { prompt: "[[recall]] Keep token-wren too.", sessionId });
      await end(second);
      const third = await user.start({ sandbox, args: KEEP });

      const last = await third.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

      expect(toText(again)).toBe("token-finch");
      expect(toText(last)).toBe("token-finch token-wren");
      expect(last.structuredContent).toMatchObject({ sessionId });
      expect(third.stderr()).not.toContain("clean up");
    });

    it("is resumed after a kill -9, even during a turn", async () => {
      await using user = await createUser();
      const first = await user.start({ sandbox, args: KEEP });
      const sessionId = await begin(first);
      first.ask("code-reviewer", { prompt: "[[write begun: x]][[sleep 60000]]", sessionId }).catch(() => undefined);
      await waitFor(() => existsSync(join(user.workspace, "begun")));
      await end(first, "SIGKILL");
      const second = await user.start({ sandbox, args: KEEP });

      const answer = await second.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

      expect(toText(answer)).toBe("token-finch");
    });

    it("is resumed in one of two budgies that try at once, and the other gets an error", async () => {
      await using user = await createUser();
      const first = await user.start({ sandbox, args: KEEP });
      const sessionId = await begin(first);
      await end(first);
      const rivals = await Promise.all([user.start({ sandbox, args: KEEP }), user.start({ sandbox, args: KEEP })]);

      const ask = ({ ask: call }: Budgie) => call("code-reviewer", { prompt: "[[recall]]", sessionId });
      const answers = await Promise.all(rivals.map(ask));

      const texts = answers.map(toText).toSorted();
      expect(texts).toContain("token-finch");
      expect(texts.find((text) => text !== "token-finch")).toMatch(/^SESSION_NOT_FOUND: Another budgie that runs has/);
    });

    it("is refused with another agent or directory, and stays available for the right call", async () => {
      await using user = await createUser();
      const first = await user.start({ sandbox, args: KEEP });
      const sessionId = await begin(first);
      await end(first);
      const second = await user.start({ sandbox, args: KEEP });

      const otherAgent = await second.ask("reader", { prompt: "[[recall]]", sessionId });
      const directory = join(user.host.home, "other");
      mkdirSync(directory);
      const otherPlace = await second.ask("code-reviewer", { prompt: "[[recall]]", sessionId, directory });
      const right = await second.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

      expect(toText(otherAgent)).toMatch(/^INPUT_INVALID: .*is one with the agent "code-reviewer"/);
      expect(toText(otherPlace)).toMatch(/^INPUT_INVALID: .*works on/);
      expect(toText(right)).toBe("token-finch");
    });

    it("is refused by a budgie that keeps no sessions", async () => {
      await using user = await createUser();
      const first = await user.start({ sandbox, args: KEEP });
      const sessionId = await begin(first);
      await end(first);
      const plain = await user.start({ sandbox });

      const refused = await plain.ask("code-reviewer", { prompt: "[[recall]]", sessionId });
      const keeping = await user.start({ sandbox, args: KEEP });
      const answer = await keeping.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

      expect(toText(refused)).toMatch(/^SESSION_NOT_FOUND: /);
      expect(toText(answer)).toBe("token-finch");
    });

    it("expires after --session-ttl without use", async () => {
      await using user = await createUser();
      const args = [...KEEP, "--session-ttl", "1s"];
      const first = await user.start({ sandbox, args });
      const sessionId = await begin(first);
      await end(first);
      await new Promise((wake) => setTimeout(wake, 1100));
      const second = await user.start({ sandbox, args });

      const answer = await second.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

      expect(toText(answer)).toMatch(/^SESSION_NOT_FOUND: .*unused for longer than the 1s/);
    });
  });

  it("an idle session expires while its budgie runs, and one with a turn does not", async () => {
    await using user = await createUser();
    const budgie = await user.start({ sandbox, args: ["--session-ttl", "2s", "--sweep-every", "1s"] });
    const sessionId = await begin(budgie);
    const working = await budgie.ask("code-reviewer", { prompt: "[[sleep 6000]] Done." });
    const left = await leftovers(user);

    const gone = await budgie.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

    expect(toText(gone)).toMatch(/^SESSION_NOT_FOUND: /);
    expect(working.isError).not.toBe(true);
    expect(left.filter((name) => name.includes(sessionId))).toEqual([]);
    expect(left.join()).toContain(String(working.structuredContent?.["sessionId"]));
  });

  it("a session that is not kept ends with its budgie, which leaves nothing", async () => {
    await using user = await createUser();
    const [plain, keeping] = [await user.start({ sandbox }), await user.start({ sandbox, args: KEEP })];
    const [sessionId, kept] = [await begin(plain), await begin(keeping)];
    await Promise.all([end(plain), end(keeping)]);
    const next = await user.start({ sandbox, args: KEEP });

    const answer = await next.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

    const left = await leftovers(user);
    expect(toText(answer)).toMatch(/^SESSION_NOT_FOUND: /);
    expect(left.filter((name) => name.includes(sessionId))).toEqual([]);
    expect(left).toEqual([expect.stringContaining(kept)]);
  });
}
