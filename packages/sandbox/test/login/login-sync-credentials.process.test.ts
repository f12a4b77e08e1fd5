import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLoginSync } from "../../src/login/login-sync.ts";
import type { Credentials } from "../../src/profile/credentials.ts";
import { HOSTILE_SQL, spoil } from "./hostile-database.ts";
import { AUTH, changeHost, openSync, SAID, SAY, TOKEN, type MemorySync } from "./memory-sync.ts";

describe("prepare with less than the full login", () => {
  it("writes an access token, without its refresh token and the device's registration", async () => {
    await using made = await openSync({}, "access-token");

    await made.sync.prepare("required");

    const written = Buffer.concat([...made.files.values()].map(({ content }) => content));
    const { login } = made.host.canaries;
    expect(made.work("SELECT key FROM auth_kv")).toEqual(["kirocli:odic:token"]);
    expect(["access", "refresh", "secret"].filter((part) => written.includes(`${login}-${part}`))).toEqual(["access"]);
  });

  it("writes the host's next access token, and keeps the conversation", async () => {
    await using made = await openSync({}, "access-token");
    await made.sync.prepare("required");
    made.work(SAY);
    changeHost(made.host, "UPDATE auth_kv SET value = replace(value, '-access', '-rotated') WHERE key LIKE '%:token'");

    await made.sync.prepare("required");

    expect(made.work(TOKEN)).toEqual([expect.stringContaining("-rotated")]);
    expect(made.work(SAID)).toEqual(["what was said"]);
    expect(made.files.get(AUTH)?.content.includes("-refresh")).toBe(false);
  });

  it("refuses the turn after the access token has expired", async () => {
    await using made = await openSync({}, "access-token");
    await made.sync.prepare("required");
    changeHost(made.host, "UPDATE auth_kv SET value = replace(value, '2099', '2020')");

    await expect(made.sync.prepare("required")).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    expect(made.writes).toHaveLength(1);
  });

  it("explains how to log in if there is no access token", async () => {
    await using made = await openSync({ login: false }, "access-token");

    await expect(made.sync.prepare("required")).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringMatching(/kiro-cli login.*the option "credentials" api-key/),
    });
  });

  it.each(["api-key", "none"] as const)("writes no row for %s, and does not read the host's", async (credentials) => {
    await using made = await openSync({}, credentials);
    writeFileSync(made.host.database, "this is no database\n".repeat(500));

    await made.sync.prepare("required");

    expect(made.writes).toEqual([{ how: "create", paths: [] }]);
  });
});

describe("prepare for a command with an API key", () => {
  it("writes no login beside it, though the host has one", async () => {
    await using made = await openSync();

    await made.sync.prepare("replaced");
    await made.sync.prepare("replaced");

    expect(made.writes).toEqual([{ how: "create", paths: [] }]);
  });

  it.each(["full", "api-key"] as const)(
    "removes the login that an earlier budgie left in the home with %s, keeps the conversation, and does so once",
    async (credentials) => {
      await using made = await openSync();
      await made.sync.prepare("required");
      made.work(SAY);
      const later = resume(made, credentials);

      await later.prepare("replaced", SIGNAL);
      await later.prepare("replaced", SIGNAL);

      expect(made.work("SELECT count(*) FROM auth_kv")).toEqual([0]);
      expect(made.work(SAID)).toEqual(["what was said"]);
      const bytes = Buffer.concat([...made.files.values()].map(({ content }) => content));
      expect(bytes.includes(made.host.canaries.login)).toBe(false);
      expect(made.writes).toHaveLength(2);
    },
  );

  it("runs on no warm program that still has the login, and gives the login back without the key", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    const before = await made.sync.isCurrent("replaced");

    await made.sync.prepare("replaced");
    const after = [await made.sync.isCurrent("replaced"), await made.sync.isCurrent("required")];
    await made.sync.prepare("required");

    expect([before, ...after]).toEqual([false, true, false]);
    expect(made.work(TOKEN)).toEqual([expect.stringContaining(made.host.canaries.login)]);
  });

  it("is refused if the login cannot be removed from what the agent made of its database", async () => {
    await using made = await openSync();
    await made.sync.prepare("required");
    const [hostile = ""] = Object.values(HOSTILE_SQL);
    made.spoil((content) => spoil(content, hostile));

    await expect(resume(made, "full").prepare("replaced", SIGNAL)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(made.writes).toHaveLength(1);
  });
});

const SIGNAL = new AbortController().signal;

/** Opens the login of the same session in another budgie. */
function resume({ archive, host }: MemorySync, credentials: Credentials) {
  const scratchDir = join(host.home, "scratch");
  return createLoginSync({ archive, kiroDataDir: host.dataDir, credentials, scratchDir, exists: true });
}
