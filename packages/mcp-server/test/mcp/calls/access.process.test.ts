import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

function writeConfig({ host }: BudgieUser, content: unknown): string {
  const file = join(host.home, "budgie.json");
  writeFileSync(file, JSON.stringify(content));
  return file;
}

describe("--allow-root", () => {
  it("allows calls below the roots, with symlinks resolved on both sides, and nowhere else", async () => {
    await using user = await createBudgieUser();
    const { home } = user.host;
    for (const folder of ["code/app", "work, too", "elsewhere"]) mkdirSync(join(home, folder), { recursive: true });
    symlinkSync(join(home, "code"), join(home, "alias"));
    symlinkSync(join(home, "elsewhere"), join(home, "code/out"));
    const { ask } = await user.serve({ args: ["--allow-root", "~/alias", "--allow-root", join(home, "work, too")] });
    const outcomeOf = async (directory: string): Promise<unknown> => {
      const { isError, structuredContent } = await ask("code-reviewer", { prompt: "Hello", directory });
      return isError === true ? structuredContent?.["code"] : "allowed";
    };

    expect(await outcomeOf(join(home, "code/app"))).toBe("allowed");
    expect(await outcomeOf(join(home, "alias/app"))).toBe("allowed");
    expect(await outcomeOf(join(home, "work, too"))).toBe("allowed");
    expect(await outcomeOf(join(home, "elsewhere"))).toBe("WORKSPACE_INVALID");
    expect(await outcomeOf(join(home, "code/out"))).toBe("WORKSPACE_INVALID");
    expect(await outcomeOf(home)).toBe("WORKSPACE_INVALID");
  });

  it("comes from the variable, separated by commas, or from the file; the flag overrides both", async () => {
    await using user = await createBudgieUser();
    const { home } = user.host;
    for (const folder of ["a", "b", "c", "d"]) mkdirSync(join(home, folder));
    const file = writeConfig(user, { allowRoot: ["c"] });
    const allowed = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
      const { ask } = await user.serve({ args, env });
      const calls = ["a", "b", "c", "d"].map(async (name) => {
        const { isError } = await ask("code-reviewer", { prompt: "Hello", directory: join(home, name) });
        return isError === true ? "" : name;
      });
      return (await Promise.all(calls)).join("");
    };
    const BUDGIE_ALLOW_ROOT = "~/a,~/b";

    expect(await allowed([])).toBe("abcd");
    expect(await allowed(["--config", file])).toBe("c");
    expect(await allowed([], { BUDGIE_CONFIG: file, BUDGIE_ALLOW_ROOT })).toBe("ab");
    expect(await allowed(["-allow-root=~/d", "--config", file], { BUDGIE_ALLOW_ROOT })).toBe("d");
  });

  it("must exist at the start, because a symlink in its place could be pointed elsewhere later", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.command(["--allow-root", "~/gone"]);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(`There is no directory "${join(user.host.home, "gone")}" for --allow-root (ENOENT).`);
  });

  it.each([[["--allow-root", ""]], [["--config", ""]], [["--workspace", "read-only"]]])(
    "and similar options refuse %j",
    async (argv) => {
      await using user = await createBudgieUser();

      const { exitCode, stderr } = await user.command(argv);

      expect(exitCode).toBe(2);
      expect(stderr).toContain(`budgie: Expected ${argv[0]} (or BUDGIE_`);
    },
  );
});

describe("an agent's section", () => {
  it("shortens its turns, and no other agent's", async () => {
    await using user = await createBudgieUser();
    const file = writeConfig(user, { agents: { "code-reviewer": { timeout: "1s" } } });
    const { ask } = await user.serve({ args: ["--config", file] });

    const [short, other] = await Promise.all([
      ask("code-reviewer", { prompt: "[[sleep 4000]]" }),
      ask("shell-worker", { prompt: "[[sleep 4000]] [[say: Done.]]" }),
    ]);

    expect(short.structuredContent).toMatchObject({ code: "TIMED_OUT" });
    expect(toText(other)).toBe("Done.");
  });

  it.each([
    [{ "code-reviewer": { timeout: "11m" } }, 'gives the agent "code-reviewer" timeout "11m", and "10m" is the most'],
    [{ "code-reviewer": { workspace: "ro" } }, "Without --sandbox nothing can enforce"],
    [{ "code-reviwer": {} }, 'has a section for the agent "code-reviwer", which does not exist.'],
  ])("prevents the start if it is %j", async (agents, message) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.command(["--config", writeConfig(user, { agents })]);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe("a call", () => {
  it("can shorten its own timeout, and not extend it", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--agent-timeout", "20s"] });

    const [short, long, empty] = await Promise.all([
      ask("code-reviewer", { prompt: "[[sleep 4000]]", timeout: "1s" }),
      ask("code-reviewer", { prompt: "Hello", timeout: "21s" }),
      ask("code-reviewer", { prompt: "[[say: Hi.]]", timeout: "" }),
    ]);

    expect(short.structuredContent).toMatchObject({ code: "TIMED_OUT" });
    expect(toText(long)).toMatch(/^INPUT_INVALID: The argument "timeout" cannot be "21s": this agent is allowed "20s"/);
    expect(toText(empty)).toBe("Hi.");
  });

  it.each([
    [{ timeout: "soon" }, 'INPUT_INVALID: Expected the argument "timeout" to be a duration'],
    [{ workspace: "none" }, 'INPUT_INVALID: The argument "workspace" must be "rw", "copy" or "ro".'],
    [{ egress: "none" }, "INPUT_INVALID: Without a sandbox nothing can enforce a bounded network."],
    [
      { workspace: "ro" },
      "INPUT_INVALID: Without a sandbox nothing can enforce a copy of the workspace, or a read-only one.",
    ],
  ])("is refused with %j in local mode, and no agent runs", async (input, message) => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    expect(toText(await ask("code-reviewer", { prompt: "Hello", ...input }))).toContain(message);
    expect(user.kiroCalls()).toEqual([]);
  });
});

describe("local mode", () => {
  it("can use the home directory, because nothing is hidden from an agent anyway", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const answer = await ask("code-reviewer", { prompt: "[[say: Hi.]]", directory: user.host.home });

    expect(toText(answer)).toBe("Hi.");
  });
});
