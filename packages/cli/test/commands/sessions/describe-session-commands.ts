import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RestartSetup } from "../../../../mcp-server/test/server/describe-restarts.ts";
import {
  createBudgieUser,
  toEngineVariables,
  toText,
  type Budgie,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";

const KEEP = ["--keep-sessions"];

/** Describes `budgie sessions`, with the sessions of real programs. */
export function describeSessionCommands({ cleanUp, leftovers, sandbox }: RestartSetup): void {
  const isolation = sandbox ? "container" : "none";

  async function createUser(): Promise<BudgieUser> {
    const user = await createBudgieUser();
    return {
      ...user,
      command: (argv) => user.command(argv, sandbox ? toEngineVariables() : { DOCKER_HOST: "unix:///nowhere" }),
      async [Symbol.asyncDispose]() {
        await user[Symbol.asyncDispose]();
        await cleanUp(user);
      },
    };
  }

  describe("budgie sessions ls", () => {
    it("lists sessions with their owners, agents, directories and expiry", async () => {
      await using user = await createUser();
      const [ended, running] = [await user.start({ sandbox, args: KEEP }), await user.start({ sandbox })];
      const [kept, live] = [await begin(ended), await begin(running)];
      ended.child.stdin?.end();
      await ended.ended;

      const [json, plain] = [await user.command(["sessions", "ls", "--json"]), await user.command(["sessions", "ls"])];

      const all = JSON.parse(json.stdout) as readonly { readonly id: string; readonly keptUntil?: string }[];
      const about = { agent: "shell-worker", directory: user.workspace, isolation };
      expect(all.find(({ id }) => id === live)).toMatchObject({ ...about, state: "live" });
      expect(all.find(({ id }) => id === kept)).toMatchObject({ ...about, state: "kept" });
      const untilMs = Date.parse(all.find(({ id }) => id === kept)?.keptUntil ?? "");
      expect(untilMs - Date.now()).toBeGreaterThan(23 * 3_600_000);
      expect(plain.stdout).toMatch(
        new RegExp(`^${kept.slice(0, 8)}  shell-worker .* kept until .*Z  ${user.workspace}$`, "m"),
      );
      expect(plain.stdout).toMatch(new RegExp(`^${live.slice(0, 8)}  shell-worker .* live `, "m"));
      expect([json.exitCode, plain.exitCode]).toEqual([0, 0]);
    });
  });

  describe("budgie sessions rm", () => {
    it("removes a kept session completely, but not one of a running budgie", async () => {
      await using user = await createUser();
      const [ended, running] = [await user.start({ sandbox, args: KEEP }), await user.start({ sandbox })];
      const [kept, live] = [await begin(ended), await begin(running)];
      ended.child.stdin?.end();
      await ended.ended;
      const before = await leftovers(user);

      const { exitCode, stdout } = await user.command(["sessions", "rm", kept.slice(0, 8), live, "--json"]);

      const left = await leftovers(user);
      expect(exitCode).toBe(1);
      expect(JSON.parse(stdout)).toEqual({
        removed: [kept],
        failed: [{ id: live, why: expect.stringMatching(/^a budgie that runs has it/) }],
      });
      expect(before.filter((name) => name.includes(kept))).not.toEqual([]);
      expect(left.filter((name) => name.includes(kept))).toEqual([]);
      const still = await running.ask("shell-worker", { prompt: "[[recall]]", sessionId: live });
      expect(toText(still)).toBe("token-finch");
      const next = await user.start({ sandbox, args: KEEP });
      const gone = await next.ask("shell-worker", { prompt: "[[recall]]", sessionId: kept });
      expect(toText(gone)).toMatch(/^SESSION_NOT_FOUND/);
    });

    it("reports an unknown session, and refuses a malformed id", async () => {
      await using user = await createUser();

      const unknown = await user.command(["sessions", "rm", "00000000-0000-4000-8000-000000000000"]);
      const malformed = await user.command(["sessions", "rm", "../../etc"]);

      expect(unknown).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("there is no such session") });
      expect(malformed).toMatchObject({ exitCode: 1, stdout: "" });
    });
  });

  describe("budgie sessions export", () => {
    it("writes the home of a kept session and of one in use, with its symlinks", async () => {
      await using user = await createUser();
      const running = await user.start({ sandbox, args: KEEP });
      const prompt = `Keep the word token-finch. [[run: cd "$HOME${sandbox ? "" : "/.kiro/sub-agents/sessions/$BUDGIE_SESSION"}" && echo noted > note && ln -s /etc/passwd planted]]`;
      const id = await begin(running, prompt);
      const folder = mkdtempSync(join(user.host.home, "exports-"));
      const inUse = await user.command(["sessions", "export", id, join(folder, "in-use.tar"), "--json"]);
      running.child.stdin?.end();
      await running.ended;

      const kept = await user.command(["sessions", "export", id, join(folder, "kept.tar")]);

      for (const name of ["in-use.tar", "kept.tar"]) {
        const file = join(folder, name);
        expect(tar("-tvf", file)).toMatch(/^l.* home\/agent\/planted -> \/etc\/passwd$/m);
        expect(tar("-xOf", file, "home/agent/note")).toBe("noted\n");
        expect(readFileSync(file, "latin1")).not.toContain("root:x:0");
        expect(statSync(file).mode & 0o777).toBe(0o600);
      }
      expect(JSON.parse(inUse.stdout)).toMatchObject({ session: id, leftOut: expect.any(Array) });
      expect([inUse.exitCode, kept.exitCode]).toEqual([0, 0]);
      expect((await leftovers(user)).filter((name) => name.includes("reader"))).toEqual([]);
    });

    it("overwrites nothing, and leaves no file if there is nothing to write", async () => {
      await using user = await createUser();
      const budgie = await user.start({ sandbox, args: KEEP });
      const id = await begin(budgie);
      const [taken, fresh] = [join(user.host.home, "taken"), join(user.host.home, "fresh")];
      writeFileSync(taken, "precious");

      const refused = await user.command(["sessions", "export", id, taken]);
      const unknown = await user.command(["sessions", "export", "00000000-0000-4000-8000-000000000000", fresh]);

      expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("EEXIST") });
      expect(readFileSync(taken, "utf8")).toBe("precious");
      expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("There is no session") });
      expect(existsSync(fresh)).toBe(false);
    });
  });
}

/** Begins a session with a conversation. */
export async function begin(budgie: Budgie, prompt = "Keep the word token-finch."): Promise<string> {
  const answer = await budgie.ask("shell-worker", { prompt });
  expect(answer.isError, toText(answer)).not.toBe(true);
  return String(answer.structuredContent?.["sessionId"]);
}

/** Runs the system's tar. */
export function tar(...argv: readonly string[]): string {
  return spawnSync("tar", argv, { encoding: "utf8" }).stdout;
}
