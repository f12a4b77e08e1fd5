import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isAlive, kiroCliPath } from "@budgie/testkit";
import { watchParent } from "../../src/process/watch-parent.ts";
import { budgiePath, createBudgieUser, waitFor, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

describe("watchParent", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watch(first: number) {
    let parent = first;
    let gone = 0;
    watchParent(
      () => void gone++,
      () => parent,
    );
    return {
      become: (pid: number) => void (parent = pid),
      goneAfter: (ms: number) => {
        vi.advanceTimersByTime(ms);
        return gone;
      },
    };
  }

  it("reports once, within 10 s, that another process is the parent", () => {
    const { become, goneAfter } = watch(1234);
    const before = goneAfter(60_000);

    become(1);

    expect([before, goneAfter(10_000), goneAfter(60_000)]).toEqual([0, 1, 1]);
  });

  it("treats any new parent as init, such as a user's session manager", () => {
    const { become, goneAfter } = watch(1234);

    become(900);

    expect(goneAfter(10_000)).toBe(1);
  });

  it.each([1, 0])("does not watch the parent %d", (pid) => {
    watch(pid);

    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a budgie whose parent dies while its pipes stay open", () => {
  it("shuts down, and not earlier", async () => {
    await using user = await createBudgieUser();
    const { budgiePid, send, shell, stderr } = await startBelowShell(user);
    const call = {
      name: "kiro-subagents.code-reviewer",
      arguments: { directory: user.workspace, prompt: "[[sleep 60000]]" },
    };
    send(toStartMessages() + toLine({ id: 3, method: "tools/call", params: call }));
    const agent = await waitFor(() => user.kiroCalls()[0]?.pid);
    await sleep(MANY_INTERVALS_MS);
    const before = [budgiePid, agent].map(isAlive);

    shell.kill("SIGKILL");
    await waitFor(() => !isAlive(budgiePid));

    expect(before).toEqual([true, true]);
    expect(isAlive(agent)).toBe(false);
    expect(readdirSync(user.sessionsDir)).toEqual([]);
    expect(readdirSync(join(user.host.home, ".local", "state", "budgie", "owners"))).toEqual([]);
    expect(stderr()).toContain("budgie: The program that started budgie has exited.\n");
    expect(stderr()).not.toContain("clean up");
  });

  it("continues over HTTP", async () => {
    await using user = await createBudgieUser();
    const { budgiePid, shell, stderr } = await startBelowShell(user, ["--transport", "http", "--port", "0"]);
    const address = await waitFor(() => /Listening on (\S+)$/m.exec(stderr())?.[1]);

    shell.kill("SIGKILL");
    await once(shell, "exit");
    await sleep(MANY_INTERVALS_MS);

    expect((await fetch(new URL("/healthz", address))).status).toBe(200);
    process.kill(budgiePid, "SIGTERM");
    await waitFor(() => !isAlive(budgiePid));
  });
});

// The test's intervals are 0.1 s.
const MANY_INTERVALS_MS = 1500;

/** Starts a shell that starts budgie and waits for it, on pipes that this process keeps open. */
async function startBelowShell(user: BudgieUser, args: readonly string[] = []) {
  // Open for reading too, so that the pipe always has a possible writer.
  const pipe = join(user.host.home, `stdin-${args.length}`);
  execFileSync("mkfifo", [pipe]);
  const stdin = openSync(pipe, "r+");
  const own = ["--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG", ...args];
  const child = spawn(
    "sh",
    ["-c", 'exec 3<&0; "$@" <&3 & echo "pid $!" >&2; wait', "sh", process.execPath, budgiePath, ...own],
    {
      env: {
        PATH: process.env["PATH"],
        HOME: user.host.home,
        FAKE_KIRO_LOG: join(user.host.home, "kiro-calls"),
        NODE_OPTIONS: `--import ${new URL("../../../cli/test/fixtures/quick-intervals.mjs", import.meta.url).href}`,
      },
      stdio: [stdin, "pipe", "pipe"],
    },
  );
  const errors: Buffer[] = [];
  child.stderr?.on("data", (piece: Buffer) => errors.push(piece));
  child.stdout?.resume();
  const stderr = (): string => Buffer.concat(errors).toString();
  const budgiePid = Number(await waitFor(() => /^pid (\d+)$/m.exec(stderr())?.[1]));
  return { budgiePid, shell: child, stderr, send: (text: string) => void writeSync(stdin, text) };
}

function toStartMessages(): string {
  const clientInfo = { name: "test", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  return toLine({ id: 1, method: "initialize", params }) + toLine({ method: "notifications/initialized" });
}

function toLine(message: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}
