import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive, kiroCliPath } from "@budgie/testkit";
import { createWire } from "./http-place.ts";
import {
  budgiePath,
  createBudgieUser,
  toText,
  waitFor,
  type BudgieUser,
} from "../../../../cli/test/helpers/start-budgie.ts";
import { INITIALIZE, startHttpBudgie, TOKEN } from "./start-http-budgie.ts";

const homesOf = ({ sessionsDir }: BudgieUser): readonly string[] =>
  existsSync(sessionsDir) ? readdirSync(sessionsDir) : [];
// Almost the largest answer.
const LONGEST = "long ".repeat(18_000).trim();
const readText = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");

describe("budgie --transport http", () => {
  it("serves concurrent clients, each in its own session, and prints nothing on stdout", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [one, two] = await Promise.all([budgie.connect(), budgie.connect()]);

    const { tools } = await one.client.listTools();
    const answers = await Promise.all([
      one.ask("code-reviewer", { prompt: "Hello from one" }),
      two.ask("code-reviewer", { prompt: "Hello from two" }),
    ]);

    expect(tools.map(({ name }) => name)).toContain("kiro-subagents.code-reviewer");
    expect(answers.map(toText)).toEqual(["You asked: Hello from one", "You asked: Hello from two"]);
    expect(one.transport.sessionId).not.toBe(two.transport.sessionId);
    expect(await budgie.end()).toBe(0);
    expect(budgie.stdout()).toBe("");
    expect(budgie.stderr()).not.toContain(TOKEN);
  });

  it("survives its stdin and its parent, and shuts down on a signal", async () => {
    await using user = await createBudgieUser();
    // budgie's parent ends at once, and its stdin is closed from the start.
    const command = `"$0" "$@" <&- >out 2>err & echo $!`;
    const argv = [process.execPath, budgiePath, "--transport", "http", "--port", "0", "--kiro-binary", kiroCliPath];
    const env = { PATH: process.env["PATH"] ?? "", HOME: user.host.home, BUDGIE_HTTP_TOKEN: TOKEN };
    const parent = spawn("sh", ["-c", command, ...argv], {
      cwd: user.host.home,
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [piece] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(piece);
    const address = await waitFor(() => /Listening on (\S+)/.exec(readText(join(user.host.home, "err")))?.[1]);
    await new Promise((wake) => setTimeout(wake, 500));

    const answer = await fetch(new URL("/healthz", address));
    process.kill(pid, "SIGTERM");
    await waitFor(() => !isAlive(pid));

    expect(answer.status).toBe(200);
    expect(readText(join(user.host.home, "out"))).toBe("");
  });

  it.each(["SIGTERM", "SIGINT"] as const)("answers calls as cancelled and leaves nothing after %s", async (signal) => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const { ask } = await budgie.connect();
    const answer = ask("code-reviewer", { prompt: "[[sleep 60000]]" });
    const kiro = await waitFor(() => user.kiroCalls()[0]);
    const before = homesOf(user).length;

    const exitCode = await budgie.end(signal);

    expect(exitCode).toBe(0);
    expect(before).toBe(1);
    expect(homesOf(user)).toEqual([]);
    expect(isAlive(kiro.pid)).toBe(false);
    expect(budgie.stderr()).not.toMatch(/clean up|Trouble|Error/);
    expect(await answer).toMatchObject({ isError: true, structuredContent: { code: "CANCELLED" } });
  });

  it("delivers the answer over a new connection if the first was cut, which the run log records", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const wire = await createWire(budgie.url);
    const { ask } = await budgie.connect(wire.url);
    const answer = ask("shell-worker", {
      prompt: `[[run: until test -e gate; do sleep 0.1; done]][[say: ${LONGEST}]]`,
    });
    await waitFor(() => user.kiroCalls()[0]);

    wire.cut();
    await waitFor(() => /last-event-id: /i.test(wire.sent()));
    writeFileSync(join(user.workspace, "gate"), "");

    expect(toText(await answer)).toBe(LONGEST);
    const runs = await waitFor(async () => {
      const { stdout } = await user.command(["runs", "ls", "--json"]);
      return stdout.includes('"delivered":true') && stdout;
    });
    expect(JSON.parse(runs)).toHaveLength(1);
  });

  it("accepts the longest allowed prompt", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const { ask } = await budgie.connect();
    const prompt = "é".repeat(199_980);

    const answer = await ask("code-reviewer", { prompt: `${prompt}[[say: It was long.]]` });

    expect(toText(answer)).toBe("It was long.");
  });

  it("creates a token if none is given, and prints it once", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { env: { BUDGIE_HTTP_TOKEN: "" } });
    const token = /token, for as long as this budgie runs: (\S{43})$/m.exec(budgie.stderr())?.[1] ?? "";
    const begin = (authorization: string) =>
      budgie.send({ method: "POST", body: INITIALIZE, headers: { authorization } });

    const [right, wrong] = [await begin(`Bearer ${token}`), await begin(`Bearer ${TOKEN}`)];

    expect([right.status, wrong.status]).toEqual([200, 401]);
    expect(budgie.stderr().split(token)).toHaveLength(2);
  });

  it("keeps the token from agents, even if its variable is to be passed on", async () => {
    await using user = await createBudgieUser();
    const env = { SHOWN: "shown" };
    await using budgie = await startHttpBudgie(user, { args: ["--env", "BUDGIE_HTTP_TOKEN", "--env", "SHOWN"], env });
    const { ask } = await budgie.connect();

    const answer = await ask("shell-worker", { prompt: "[[env]]" });

    expect(toText(answer)).toContain('"SHOWN":"shown"');
    expect(toText(answer)).not.toContain(TOKEN);
  });

  it("ends the sessions and calls of a client that has disappeared", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: ["--http-session-ttl", "1s"] });
    const [gone, here] = [await budgie.connect(), await budgie.connect()];
    await gone.ask("code-reviewer", { prompt: "Hello" });
    const stays = await here.ask("code-reviewer", { prompt: "Hello" });
    const before = homesOf(user).length;

    // Like real clients, closes without a request to end the session.
    await gone.client.close();
    await waitFor(() => homesOf(user).length === 1);

    expect(before).toBe(2);
    expect(homesOf(user)).toEqual([stays.structuredContent?.["sessionId"]]);
  });

  it("stops the agent when a client cancels or ends its session, and not when it is cut off", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [cancels, ends, vanishes] = [await budgie.connect(), await budgie.connect(), await budgie.connect()];
    const cancelling = new AbortController();
    const slow = { prompt: "[[sleep 60000]]" };
    const pids: number[] = [];
    const begin = async (call: Promise<unknown>): Promise<void> => {
      call.catch(() => undefined);
      pids.push((await waitFor(() => user.kiroCalls()[pids.length])).pid);
    };
    await begin(cancels.ask("code-reviewer", slow, cancelling.signal));
    await begin(ends.ask("code-reviewer", slow));
    await begin(vanishes.ask("code-reviewer", slow));

    cancelling.abort();
    await ends.transport.terminateSession();
    await vanishes.client.close();
    await waitFor(() => pids.slice(0, 2).every((pid) => !isAlive(pid)));

    expect(pids.map(isAlive)).toEqual([false, false, true]);
  });
});

describe("a start over HTTP", () => {
  it("for other machines needs a flag and a token, and warns that nothing is encrypted", async () => {
    await using user = await createBudgieUser();
    const args = ["--host", "0.0.0.0", "--http-allow-remote", "--http-allowed-host", "budgie.test"];

    await using budgie = await startHttpBudgie(user, { args });

    expect(budgie.stderr()).toMatch(
      /^budgie: Other machines can reach this budgie, and nothing on the way is encrypted/m,
    );
    expect(budgie.url.host).toMatch(/^0\.0\.0\.0:/);
  });
});
