import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toEngineVariables, toText, waitFor, type BudgieUser } from "./helpers/start-budgie.ts";
import { listTraces } from "./helpers/engine.ts";

const sandbox = true;

describe("budgie --sandbox", () => {
  it("remembers a session's first turn in its second, and in no other session", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["-agent-timeout", "15m", "-verbose"] });

    const first = await ask("code-reviewer", { prompt: "Keep the word token-parakeet." });
    const sessionId = first.structuredContent?.["sessionId"];
    const second = await ask("code-reviewer", { prompt: "[[recall]]", sessionId });
    const other = await ask("code-reviewer", { prompt: "[[recall]]" });

    expect(first.structuredContent).toMatchObject({ isolation: "container", exit: { exitCode: 0 } });
    expect(first.structuredContent).not.toHaveProperty("denied");
    expect(toText(second)).toBe("token-parakeet");
    expect(toText(other)).toBe("I remember nothing.");
  });

  it("mounts any workspace of the host at /workspace", async () => {
    await using user = await createBudgieUser();
    const directory = join(user.host.home, "a: b, ünï code");
    mkdirSync(directory);
    const { ask } = await user.start({ sandbox });

    const answer = await ask("shell-worker", { directory, prompt: "[[run: pwd; echo hello >note.txt]]" });

    expect(toText(answer)).toBe("/workspace");
    expect(readFileSync(join(directory, "note.txt"), "utf8")).toBe("hello\n");
    expect(statSync(join(directory, "note.txt")).uid).toBe(process.getuid?.());
  });

  it("gives the agent a login, and no other secret of the host", async () => {
    await using user = await createBudgieUser({ wal: true });
    const before = hashDatabase(user);
    writeFileSync(join(user.workspace, "last"), "the end of what was packed");
    const { ask } = await user.start({ sandbox, args: ["--max-answer-bytes", "0"] });
    const first = await ask("shell-worker", { prompt: "Hello" });
    const { sessionId } = first.structuredContent ?? {};

    const answer = await ask("shell-worker", { sessionId, prompt: `[[run: ${toPackCommand(user)}]]` });

    const { login, ...secrets } = user.host.canaries;
    const seen = Buffer.from(toText(answer), "base64").toString("latin1");
    expect(seen).toContain("SQLite format 3");
    expect(seen).toContain(login);
    expect(seen).toContain("the end of what was packed");
    expect(Object.entries(secrets).filter(([, secret]) => seen.includes(secret))).toEqual([]);
    expect(hashDatabase(user)).toEqual(before);
  });

  it("shows an agent the files of ~/.kiro that it names, read-only, and names those that it does not show", async () => {
    await using user = await createBudgieUser();
    const { agentsDir, home } = user.host;
    for (const name of ["shared", "notes/deep", "settings"]) mkdirSync(join(home, ".kiro", name), { recursive: true });
    const files = { "shared/role.md": "a role", "notes/deep/a.md": "a note", "settings/mcp.json": "a secret" };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, ".kiro", name), text);
    const path = join(agentsDir, "shell-worker.json");
    const agent = JSON.parse(readFileSync(path, "utf8")) as object;
    const resources = [
      "file://~/.kiro/notes/**/*.md",
      `file://${home}/.kiro/notes/deep/a.md`,
      "file://~/.kiro/settings/*",
    ];
    writeFileSync(path, JSON.stringify({ ...agent, prompt: "file://../shared/role.md", resources }));
    const { ask, stderr } = await user.start({ sandbox });

    const note = ".kiro/notes/deep/a.md";
    const script = `cat ~/.kiro/shared/role.md ~/${note} ${home}/${note}; (echo x >~/${note}) 2>&1; ls ~/.kiro/settings 2>&1`;
    const answer = await ask("shell-worker", { prompt: `[[run: ${script}]]` });

    const why = 'names: "file://~/.kiro/settings/*" (it may hold secrets).';
    expect(toText(answer)).toMatch(/^a rolea notea note.*Read-only file system\ncli\.json$/);
    expect(answer.structuredContent?.["warnings"]).toContainEqual(expect.stringContaining(why));
    expect(stderr()).toContain(why);
  });

  it("warns a caller who is root, and nobody else", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.start({ sandbox });

    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });

    const warning = expect.stringContaining("uid 0 in the sandbox");
    const isRoot = process.getuid?.() === 0;
    expect(structuredContent?.["warnings"]).toEqual(isRoot ? [warning] : undefined);
    expect(stderr().includes("uid 0 in the sandbox")).toBe(isRoot);
    expect(stderr()).toContain("budgie: Serving 4 tools, isolation: container.\n");
  });

  it("passes KIRO_API_KEY to the agent, and no other variable", async () => {
    await using user = await createBudgieUser({ login: false });
    const env = { KIRO_API_KEY: "key-of-the-host", AWS_SECRET_ACCESS_KEY: "secret-of-the-host" };
    const { ask } = await user.start({ sandbox, env });

    const answer = await ask("code-reviewer", { prompt: "[[env]]" });

    expect(JSON.parse(toText(answer))).toMatchObject({ KIRO_API_KEY: "key-of-the-host" });
    expect(toText(answer)).not.toContain("secret-of-the-host");
  });

  it("keeps the log of its chats in the session's home in verbose mode", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["--verbose"] });
    const first = await ask("shell-worker", { prompt: "Hello" });
    const { sessionId } = first.structuredContent ?? {};

    const answer = await ask("shell-worker", { sessionId, prompt: "[[run: cat ~/chat-*.txt]]" });

    expect(toText(answer)).toContain("--- prompt\nIn directory /workspace, Hello\n");
  });

  it("uses at most 100 MB when idle", async () => {
    await using user = await createBudgieUser();
    const { child, client } = await user.start({ sandbox });
    await client.listTools();

    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");

    expect(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])).toBeLessThan(100_000);
  });

  it("creates nothing on the engine before the first call if nothing is to be kept ready", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.start({ sandbox, args: ["--ahead", "0"] });

    await client.listTools();

    expect(await listTraces(user)).toEqual([]);
  });
});

describe("a sandboxed turn that fails", () => {
  it("because the image is missing fails at once, and says how to get it", async () => {
    await using user = await createBudgieUser();

    const argv = ["--sandbox", "--sandbox-image", "budgie-no-such-image:latest"];
    const { exitCode, stderr, stdout } = await user.run(argv, toEngineVariables());

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(/^budgie: The sandbox image "budgie-no-such-image:latest" .* "budgie build-image".*\n$/);
  });

  it("without a login says how to log in", async () => {
    await using user = await createBudgieUser({ login: false });
    const { ask } = await user.start({ sandbox });

    const answer = await ask("code-reviewer", { prompt: "Hello" });

    expect(toText(answer)).toMatch(/^LOGIN_REQUIRED: .*kiro-cli login/);
    expect(toText(answer).replace(/\n\n\[budgie\] code-reviewer: failed[^\n]*$/, "")).not.toContain("\n");
  });

  it("without kiro-cli in the image names it", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["--kiro-binary", "no-such-kiro"] });

    const answer = await ask("code-reviewer", { prompt: "Hello" });

    expect(toText(answer)).toMatch(
      /^COMMAND_NOT_FOUND: There is no program "no-such-kiro" that the agent's user can run\./,
    );
  });

  it("by a timeout was tried twice, and leaves a session that can be resumed", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["--retry", "always"] });

    const answer = await ask("code-reviewer", { prompt: "[[append tries: x]][[sleep 60000]]", timeout: "8s" });

    const sessionId = String(answer.structuredContent?.["sessionId"]);
    expect(toText(answer)).toMatch(/^TIMED_OUT: The agent "code-reviewer" did not finish within 8s and was stopped\./);
    expect(readFileSync(join(user.workspace, "tries"), "utf8")).toBe("xx");
    expect(toText(await ask("code-reviewer", { prompt: "[[say: Here.]]", sessionId }))).toBe("Here.");
  });

  it("because the agent was killed says so", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox });

    const answer = await ask("code-reviewer", { prompt: "[[fault kill-self]]" });

    expect(toText(answer)).toMatch(/^AGENT_CRASHED: The agent "code-reviewer" was killed by SIGKILL/);
  });

  it("because the client cancelled it leaves no running container", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox });
    const cancelling = new AbortController();
    const answer = ask("code-reviewer", { prompt: AT_WORK }, cancelling.signal);
    await waitFor(() => existsSync(join(user.workspace, "at-work")));

    cancelling.abort("changed my mind");

    await expect(answer).rejects.toThrow("changed my mind");
    await expect.poll(() => listTurns(user), { timeout: 60_000 }).toEqual([]);
  });
});

const AT_WORK = "[[write at-work: yes]][[sleep 60000]]";

/** Returns all text that the sandbox can read of anybody's files; the workspace comes last. */
function toPackCommand({ host }: BudgieUser): string {
  const places = `/home /root /auth /tmp /run /mnt /opt /srv ${host.home} /workspace`;
  return `tar c --ignore-failed-read --warning=none ${places} 2>/dev/null | base64 -w0`;
}

function hashDatabase({ host }: BudgieUser): readonly string[] {
  return [host.database, `${host.database}-wal`].map((file) =>
    createHash("sha256").update(readFileSync(file)).digest("hex"),
  );
}

async function listTurns(user: BudgieUser): Promise<readonly string[]> {
  return (await listTraces(user)).filter((name) => name.includes("budgie-turn-"));
}
