import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "@budgie/testkit";
import { expect, it, onTestFinished } from "vitest";
import { startBell } from "../../src/process/start-bell.ts";

function setUp() {
  const cwd = mkdtempSync(join(tmpdir(), "budgie-bell-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const run = (script: string, limitMs?: number) =>
    startBell(
      { program: "/bin/sh", args: ["-c", script], cwd, env: { PATH: "/bin:/usr/bin", ONE: "1" }, input: "{}\n" },
      limitMs,
    );
  return {
    run,
    read: (name: string) => readFileSync(join(cwd, name), "utf8"),
    has: (name: string) => existsSync(join(cwd, name)),
  };
}

it("A command gets its input and its variables alone, in its folder, and nobody sees its output", async () => {
  const { read, run } = setUp();

  const fault = await run(
    "cat >in; env >env; echo canary; echo canary >&2; readlink /proc/self/fd/1 /proc/self/fd/2 >out",
  );

  expect([fault, read("in"), read("out")]).toEqual([undefined, "{}\n", expect.stringContaining("/dev/null")]);
  expect(
    read("env")
      .split("\n")
      .filter((line) => !/^(?:_|PWD|SHLVL|OLDPWD)=/.test(line)),
  ).toEqual(expect.arrayContaining(["ONE=1", "PATH=/bin:/usr/bin", ""]));
  expect(read("env")).not.toContain("HOME=");
});

it.each([
  ["exec <&-; exit 7", "it exited with 7"],
  ["kill -TERM $$", "it was ended by SIGTERM"],
])("A command that ends by %j is told as %j", async (script, fault) => {
  expect(await setUp().run(script)).toBe(fault);
});

it("A command that runs for too long is killed, with all that it started", async () => {
  const { has, read, run } = setUp();
  const pid = (): number => Number(read("pid"));

  const ended = run("sleep 300 & echo $! >pid.new; mv pid.new pid; wait", 2000);

  await expect.poll(() => has("pid"), { timeout: 10_000 }).toBe(true);
  expect(await ended).toBe("it ran for more than 2 s, and was killed");
  await expect.poll(() => isAlive(pid())).toBe(false);
});

it("A program that cannot be started is told", async () => {
  const bell = { program: "/no/such/program", args: [], cwd: "/", env: {}, input: "" };

  expect(await startBell(bell)).toBe("it cannot be started (ENOENT)");
});
