import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";
import { json, makeRun, remember } from "./runs-place.ts";

describe("budgie runs show", () => {
  it("prints the whole run and its answer, for an id or its beginning", async () => {
    await using user = await createBudgieUser();
    const allowed = [{ host: "api.test", port: 443, count: 2 }];
    const denied = [{ host: "evil.test", port: 80, count: 1, why: "not on the allow-list" }];
    const run = makeRun({
      retried: true,
      egress: { allowed, denied },
      directory: "/home/ada/shop",
      facts: {
        access: { workspace: "rw", egress: "allowlist" },
        image: { used: "default", reason: "changed since it was allowed", file: "/home/ada/shop/Dockerfile.sandbox" },
        sandbox: { image: `sha256:${"a".repeat(64)}`, credentials: "access-token" },
        timeoutMs: 300_000,
        changedExecutablePaths: [".git/hooks/post-checkout", "x\nerror  forged, Makefile"],
        changedFiles: {
          first: [
            { path: ".git/hooks/post-checkout", kind: "created", size: 7, isFlagged: true },
            { path: "src/a.ts", kind: "changed", size: 1234 },
            { path: "a\nrefused  forged", kind: "removed" },
          ],
          files: 5,
          more: 2,
          unknown: 'of "x", it cannot be read (EACCES)',
        },
        tools: [
          { name: "edit", count: 3 },
          { name: "x\noutcome forged", count: 1 },
        ],
        denied: ["execute_bash"],
        warnings: ["The answer is short.", "Another."],
      },
    });
    await remember(user, [run, makeRun({ answer: "Another." })], [run.id]);

    const { stdout } = await user.command(["runs", "show", run.id.slice(0, 9)]);

    expect(stdout.replace(/^(\w+) +/gm, "$1 ").split("\n")).toEqual([
      `run ${run.id}`,
      "agent reader",
      `session ${run.sessionId}`,
      "directory /home/ada/shop",
      "isolation none, workspace rw, egress allowlist, credentials access-token",
      "image sha256:aaaaaaaaaaaa, the default: changed since it was allowed (/home/ada/shop/Dockerfile.sandbox)",
      `started ${new Date(run.startedMs).toISOString()}`,
      `ended ${new Date(run.endedMs).toISOString()}, after 15.3s, of at most 5m`,
      "outcome answered, at the second try",
      "exit code 0",
      "prompt 5 bytes, which are not kept",
      "answer 12 bytes, delivered",
      "cost 0.07 credits",
      "flagged created .git/hooks/post-checkout (7 bytes)",
      'flagged "x\\nerror forged, Makefile"',
      "changed changed src/a.ts (1,234 bytes)",
      'changed removed "a\\nrefused forged"',
      "changed and 2 more, which --json has as far as they are kept",
      'unknown there may be other changes: of "x", it cannot be read (EACCES)',
      "reached api.test:443 (2)",
      "refused evil.test:80 (1)",
      "tools edit (3), x outcome forged (1)",
      "denied execute_bash",
      "warning The answer is short.",
      "warning Another.",
      "",
      "All is well.",
      "",
    ]);
    expect(await json(user, "show", run.id)).toMatchObject({ id: run.id, answer: "All is well.", egress: { denied } });
  });

  it("tells an ordinary run on one screen, however many files it changed", async () => {
    await using user = await createBudgieUser();
    const many = Array.from(
      { length: 400 },
      (_, index) => ({ path: `new/${index}`, kind: "created", size: 1 }) as const,
    );
    const run = makeRun({
      egress: { allowed: [{ host: "a", port: 443, count: 1 }], denied: [{ host: "b", port: 443, count: 1, why: "x" }] },
      directory: "/home/ada/shop",
      usage: { credits: 0.4, inputTokens: 1, outputTokens: 2 },
      facts: {
        access: { workspace: "rw", egress: "allowlist" },
        sandbox: { image: "node:22", credentials: "full" },
        timeoutMs: 300_000,
        changedExecutablePaths: [],
        changedFiles: { first: [{ path: "new/", kind: "created" }, ...many], files: 400, more: 0 },
        tools: [{ name: "edit", count: 400 }],
        denied: [],
        warnings: [],
      },
    });
    await remember(user, [run]);

    const { stdout } = await user.command(["runs", "show", run.id]);

    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(stdout).toMatch(/^changed +created new\/ with 400 files$/m);
  });

  it("shows its client, what it cost, the calls of MCP tools, and turns beside it", async () => {
    await using user = await createBudgieUser();
    const usage = { basis: "turn", inputTokens: 7, outputTokens: 3, cost: { amount: 0.25, currency: "USD" } } as const;
    const mcpCalls = [{ server: "github", tool: "get", durationMs: 1500, outcome: "TIMED_OUT" as const }];
    const run = makeRun({ client: "claude-code", usage, mcpCalls, others: [{ runId: "9a60c3de", agent: "worker" }] });
    await remember(user, [run]);

    const { stdout } = await user.command(["runs", "show", run.id]);

    expect(stdout).toMatch(/^cost +0\.25 USD; tokens 7 in, 3 out$/m);
    expect(stdout).toMatch(/^client +claude-code$/m);
    expect(stdout).toMatch(/^tools +@github\/get \(TIMED_OUT, 1\.5s\)$/m);
    expect(stdout).toMatch(/^beside +worker \(run 9a60c3de\)$/m);
    expect(await json(user, "show", run.id)).toMatchObject({ usage, mcpCalls, others: run.others });
  });

  it("escapes answers and errors for a terminal, and changes nothing in JSON", async () => {
    await using user = await createBudgieUser();
    const answer = "Grün \u001b[31mred\u001b[0m \u009b2J \u202Eabc\u{E0041} \u0007";
    const run = makeRun({ answer, error: "bad\u001b]0;title\u0007\nrun   root", outcome: "AGENT_FAILED" });
    await remember(user, [run]);

    const { stdout: text } = await user.command(["runs", "show", run.id]);
    const { stdout: safe } = await user.command(["runs", "show", run.id, "--json"]);

    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toMatch(/^error +bad run root$/m);
    expect(text).toContain("Grün red");
    expect(safe.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(safe)).toMatchObject({ answer, error: run.error });
  });

  it("lists the runs if an id fits none or several", async () => {
    await using user = await createBudgieUser();
    await remember(user, [makeRun({ id: "abc-1" }), makeRun({ id: "abc-2" })]);

    expect(await user.command(["runs", "show", "x%"])).toMatchObject({
      exitCode: 1,
      stderr: 'budgie: There is no run "x%" in the log. "budgie runs ls" lists all that are there.\n',
    });
    expect(await user.command(["runs", "show", "ab"])).toMatchObject({
      exitCode: 1,
      stderr: 'budgie: The ids of several runs begin with "ab", such as "abc-1", "abc-2". Give more of the id.\n',
    });
    expect(await json(user, "show", "abc-2")).toMatchObject({ id: "abc-2" });
    expect((await user.command(["runs", "show", ""])).exitCode).toBe(1);
  });
});
