import Database from "better-sqlite3";
import { once } from "node:events";
import { expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";

it("ends with exit code 1 on the first engine without a login", async () => {
  await using user = await createKiroUser({ login: false });

  const { stdout, stderr, exitCode } = await user.chat("hi", { profile: "q1" });

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
  expect(stderr).toContain("You are not logged in");
});

it("shows a URL and waits forever on the second engine without a login", async () => {
  await using user = await createKiroUser({ login: false });
  const child = user.start(["chat", "--no-interactive", "hi"]);
  let printed = "";

  for await (const piece of child.stdout ?? []) {
    printed += String(piece);
    if (printed.includes("Open this URL: https://")) break;
  }
  child.kill();
  const [, signal] = await once(child, "exit");

  expect(signal).toBe("SIGTERM");
});

it("needs no login with an API key", async () => {
  await using user = await createKiroUser({ login: false });

  const { stdout } = await user.chat("hi", { env: { KIRO_API_KEY: "ksk_1" } });

  expect(stdout).toContain("You asked: hi");
});

it("says nothing on stdout, and ends with 0, for an invalid API key", async () => {
  await using user = await createKiroUser({ login: false });

  const { stdout, stderr, exitCode } = await user.chat("hi", { env: { KIRO_API_KEY: "invalid" } });

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
  expect(stderr).toBe("Authentication failed. Your API key may be invalid or expired.\n");
});

it("reports the login, or ends with exit code 1 without one", async () => {
  await using user = await createKiroUser();
  await using stranger = await createKiroUser({ login: false });

  expect(await user.run(["whoami"])).toMatchObject({
    stdout: "Logged in with IAM Identity Center (https://example.awsapps.com/start)\n",
    exitCode: 0,
  });
  expect(await stranger.run(["whoami"])).toMatchObject({ stderr: "Not logged in\n", exitCode: 1 });
});

it.each([
  ["rotates an expired token", { refresh_token: "fresh" }, /^rotated-/],
  ["deletes an expired token without a refresh token", { refresh_token: undefined }, undefined],
])("%s", async (_what, change, expected) => {
  await using user = await createKiroUser();
  changeToken(user.host.database, { expires_at: "2020-01-01T00:00:00Z", ...change });

  const { exitCode } = await user.run(["whoami"]);

  const token = readToken(user.host.database);
  expect(exitCode).toBe(expected === undefined ? 1 : 0);
  if (expected === undefined) expect(token).toBeUndefined();
  else expect(token?.["refresh_token"]).toMatch(expected);
});

const KEY = "kirocli:odic:token";

function readToken(file: string): Record<string, unknown> | undefined {
  const database = new Database(file);
  const value = database.prepare<[string], string>("SELECT value FROM auth_kv WHERE key = ?").pluck().get(KEY);
  database.close();
  return value === undefined ? undefined : JSON.parse(value);
}

function changeToken(file: string, change: Record<string, unknown>): void {
  const value = JSON.stringify({ ...readToken(file), ...change });
  const database = new Database(file);
  database.prepare("UPDATE auth_kv SET value = ? WHERE key = ?").run(value, KEY);
  database.close();
}
