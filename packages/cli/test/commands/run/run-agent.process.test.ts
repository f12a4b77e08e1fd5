import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { isAlive, kiroCliPath } from "@budgie/testkit";
import { createBudgieUser, waitFor, type BudgieUser } from "../../helpers/start-budgie.ts";

const LOCAL = ["--no-sandbox", "--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG"];

/** Runs `budgie run` in this process, in the user's workspace unless -C says otherwise. */
function run(user: BudgieUser, ...argv: readonly string[]) {
  return user.command(toArguments(user, argv));
}

/** Runs `budgie run` in a separate process, whose sessions another can resume once it has ended. */
function runApart(user: BudgieUser, ...argv: readonly string[]) {
  return user.run(toArguments(user, argv));
}

function toArguments({ workspace }: BudgieUser, argv: readonly string[]): readonly string[] {
  return ["run", ...(argv.includes("-C") ? [] : ["-C", workspace]), ...argv, ...LOCAL];
}

async function read(stream: Readable | null): Promise<string> {
  return stream === null ? "" : text(stream);
}

describe("budgie run", () => {
  it("prints the answer and a newline on stdout, and the session and one line about the turn on stderr", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await run(user, "code-reviewer", "[[say: All]][[say: is well.]]");

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "All\nis well.\n" });
    const [session, ...rest] = stderr.trimEnd().split("\n");
    expect(session).toMatch(/^budgie: session [\da-f-]{36}; --continue or --session resumes it\.$/);
    expect(rest).toEqual([expect.stringMatching(/^budgie: code-reviewer: done in [\d.]+ m?s/)]);
  });

  it("says what the turn changed, and keeps what the agent printed if the configuration file asks for it", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "config.json");
    writeFileSync(file, JSON.stringify({ keepTranscripts: true }));

    const { stderr } = await run(user, "shell-worker", "[[say: First I write.]][[write new.ts: x]]", "--config", file);
    const { stdout: listed } = await user.command(["runs", "ls", "--json"]);
    const [{ id = "" } = {}] = JSON.parse(listed) as readonly { readonly id?: string }[];
    const { stdout: shown } = await user.command(["runs", "show", id]);

    expect(stderr).toMatch(/^budgie: shell-worker: done in [\d.]+ m?s · 1 file changed( ·|$)/m);
    expect((await user.command(["logs", id])).stdout).toContain("First I write.");
    expect(shown).toMatch(/^changed +created new\.ts \(\d+ bytes\)$/m);
    expect(shown).toMatch(/^tools +\w+ \(\d\)/m);
  });

  it("finds the agent by its tool's name, and reads the prompt from stdin for -", async () => {
    await using user = await createBudgieUser();
    const argv = ["run", "kiro-subagents.code-reviewer", "-", "-C", user.workspace, ...LOCAL];
    const child = user.launch(argv);
    child.stdin?.end("[[say: From stdin.]]");

    expect(await read(child.stdout)).toBe("From stdin.\n");
  });

  it("prints with --json what an MCP client gets, of a failed turn too", async () => {
    await using user = await createBudgieUser();

    const good = await run(user, "code-reviewer", "[[say: Fine.]]", "--json");
    const bad = await run(user, "code-reviewer", "[[fault crash]]", "--json", "--retry", "never");

    expect({ ...good, stdout: JSON.parse(good.stdout) as unknown }).toMatchObject({
      exitCode: 0,
      stderr: "",
      stdout: { status: "done", response: "Fine.", agent: "code-reviewer", directory: user.workspace },
    });
    expect({ ...bad, stdout: JSON.parse(bad.stdout) as unknown }).toMatchObject({
      exitCode: 1,
      stdout: { code: "AGENT_CRASHED", sessionId: expect.any(String) },
    });
  });

  it("continues its last session with the agent in the directory, or the one named, and else begins anew", async () => {
    await using user = await createBudgieUser();
    const other = join(user.host.home, "other");
    mkdirSync(other);
    const first = await runApart(user, "code-reviewer", "Keep the word token-parakeet.");
    const id = /session (\S+);/.exec(first.stderr)?.[1] ?? "";

    const fresh = await run(user, "code-reviewer", "[[recall]]");
    const named = await runApart(user, "code-reviewer", "[[recall]]", "--session", id);
    const last = await run(user, "code-reviewer", "[[recall]]", "--continue");
    const elsewhere = await run(user, "code-reviewer", "[[recall]]", "--continue", "-C", other);
    const another = await run(user, "reader", "[[recall]]", "--continue");

    expect(fresh.stdout).toBe("I remember nothing.\n");
    expect(named.stdout).toBe("token-parakeet\n");
    expect(last.stdout).toBe("token-parakeet\n");
    for (const { exitCode, stderr, stdout } of [elsewhere, another]) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toMatch(/"budgie run" has no session of ".*" in ".*" to continue/);
    }
  });

  it("continues no session that a server kept", async () => {
    await using user = await createBudgieUser();
    const { ask, client, ended } = await user.serve({ args: ["--keep-sessions"] });
    await ask("code-reviewer", { prompt: "Keep the word token-parakeet." });
    await client.close();
    await ended;

    const { exitCode, stderr } = await run(user, "code-reviewer", "[[recall]]", "--continue");

    expect(exitCode).toBe(1);
    expect(stderr).toContain('"budgie run" has no session of "code-reviewer"');
  });

  it("brings the answer of each turn once", async () => {
    await using user = await createBudgieUser();
    await runApart(user, "code-reviewer", "[[say: First.]]");

    const { stderr, stdout } = await run(user, "code-reviewer", "[[say: Second.]]", "--continue");

    expect(stdout).toBe("Second.\n");
    expect(stderr).not.toContain("First.");
  });

  it.each([
    ["an agent that does not exist", ["nobody", "x"], 1, /There is no agent "nobody"/],
    ["a directory that does not exist", ["reader", "x", "-C", "/nope"], 2, /There is no directory "\/nope" for -C/],
    ["two sessions", ["reader", "x", "--continue", "--session", "y"], 2, /--session ID or --continue, and not both/],
    ["a session that is none", ["reader", "x", "--session", "y"], 1, /INPUT_INVALID: /],
    ["no prompt", ["reader"], 2, /Missing required argument 'prompt'/],
  ])("refuses %s", async (...row) => {
    const [, argv, code, message] = row;
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await run(user, ...argv);

    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
    expect(stderr).toMatch(message);
    expect(user.kiroCalls()).toEqual([]);
  });

  it("cancels the turn at Ctrl-C, and leaves nothing running", async () => {
    await using user = await createBudgieUser();
    const child = user.launch(["run", "code-reviewer", "[[sleep 600000]]", "-C", user.workspace, ...LOCAL]);
    const printed = read(child.stdout);
    const reported = read(child.stderr);
    const call = await waitFor(() => user.kiroCalls()[0]);

    child.kill("SIGINT");

    expect(await once(child, "close")).toEqual([130, null]);
    expect(await printed).toBe("");
    expect(await reported).toMatch(
      /^budgie: CANCELLED: .*\nbudgie: session \S+; --continue or --session resumes it\.\nbudgie: code-reviewer: cancelled after .*\n$/,
    );
    expect(isAlive(call.pid)).toBe(false);
  });
});
