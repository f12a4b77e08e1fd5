import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AUTH, changeHost, openSync, SAID, SAY, TOKEN } from "./memory-sync.ts";

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
