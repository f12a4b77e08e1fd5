import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toText } from "../helpers/servers.ts";
import { logInAtOnce, manageAs, startPlace } from "../helpers/logins.ts";

const ECHO = { name: "echo", arguments: {} };

describe("a login", () => {
  it("is one by a browser with PKCE, and its tokens are in a file that only the user reads", async () => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    const { facts, opened, page } = await logInAtOnce(user.logins(), { ...server, scopes: ["read", "write"] });

    expect(Object.fromEntries(opened.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      scope: "read write",
      resource: server.url,
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(page).toMatch(/^Logged in.*close this page\.\n$/);
    expect(facts).toMatchObject({ url: server.url, issuer: authorization.url, isRenewable: true });
    expect(facts.expiresAt?.getTime()).toBeGreaterThan(Date.now());
    expect(user.files()).toEqual([expect.stringMatching(/^[\da-f]{32}\.json$/)]);
    const [file = ""] = user.files();
    expect(statSync(join(user.folder, file)).mode & 0o777).toBe(0o600);
    expect(statSync(user.folder).mode & 0o777).toBe(0o700);
    expect(JSON.stringify(facts)).not.toMatch(/access-|refresh-/);
  });

  it("is used for the server's requests, and for no other server's", async () => {
    await using place = await startPlace();
    const { server, user } = place;
    await logInAtOnce(user.logins(), server);
    const { manager } = manageAs(user.logins(), server);
    await using _ = manager;

    expect(toText(await manager.call("far", ECHO))).toBe("{}");
    const other = { name: "other" };
    for (const not of [other, { url: `${server.url}/x` }, { scopes: ["more"] }]) {
      expect(
        await user
          .logins()
          .find({ ...server, ...not })
          .token(),
      ).toBeUndefined();
    }
  });

  it("gives way to a header of the server's entry", async () => {
    await using place = await startPlace();
    const { authorization, mock, server, user } = place;
    await logInAtOnce(user.logins(), server);
    const { manager } = manageAs(user.logins(), { ...server, headers: { Authorization: "Bearer own" } });
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "needs-auth" }]);
    expect(mock.requests.at(-1)?.headers.authorization).toBe("Bearer own");
    expect(authorization.granted).toEqual(["authorization_code"]);
  });

  it("is made later than the manager, which then uses it", async () => {
    await using place = await startPlace();
    const { server, user } = place;
    const { events, manager } = manageAs(user.logins(), server);
    await using _ = manager;
    await manager.start();
    await expect(manager.call("far", ECHO)).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: 'The MCP server "far" wants a login: run "budgie mcp login far".',
    });
    await logInAtOnce(user.logins(), server);

    expect(toText(await manager.call("far", ECHO))).toBe("{}");
    expect(events.at(-1)).toMatchObject({ kind: "ready" });
  });
});

describe("an access token", () => {
  it("is renewed once if the server refuses it, however many processes notice", async () => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    const managers = [0, 1, 2].map(() => manageAs(user.logins(), server).manager);
    await Promise.all(managers.map((manager) => manager.start()));
    authorization.expire();

    const results = await Promise.all(managers.map((manager) => manager.call("far", ECHO)));
    await Promise.all(managers.map((manager) => manager[Symbol.asyncDispose]()));

    expect(results.map(toText)).toEqual(["{}", "{}", "{}"]);
    expect(authorization.granted).toEqual(["authorization_code", "refresh_token"]);
    expect(user.files()).toHaveLength(1);
  });

  it("is renewed before it is sent if it has expired", async () => {
    await using place = await startPlace({ expiresInSeconds: 0 });
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    authorization.expire();
    const token = await user.logins().find(server).token();

    expect(authorization.accepts(`Bearer ${token}`)).toBe(true);
  });

  it.each(["invalid_grant", "invalid_client"])("that is not renewed (%s) ends the login", async (error) => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    const { events, manager } = manageAs(user.logins(), server);
    await using _ = manager;
    await manager.start();
    authorization.expire();
    authorization.failWith(error);

    await expect(manager.call("far", ECHO)).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    expect(manager.list()).toMatchObject([{ state: "needs-auth" }]);
    expect(events.at(-1)).toMatchObject({ kind: "needs-auth" });
    expect(user.files()).toEqual([]);
    expect(manager.logs("far").join("\n")).not.toMatch(/access-|refresh-/);
  });

  it("that cannot be renewed now keeps the login, and the error has no token", async () => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    authorization.expire();
    authorization.failWith("temporarily_unavailable");
    const { manager } = manageAs(user.logins(), server);
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([
      { state: "error", error: "its login cannot be renewed: the authorization server says temporarily_unavailable" },
    ]);
    expect(user.files()).toHaveLength(1);
  });
});

describe("a logout", () => {
  it("removes the logins of a name, and revokes their tokens", async () => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    await logInAtOnce(user.logins(), { ...server, scopes: ["more"] });
    await logInAtOnce(user.logins(), { ...server, name: "other" });

    expect(await user.logins().logOut("far")).toEqual([
      { url: server.url, problem: undefined },
      { url: server.url, problem: undefined },
    ]);
    expect(authorization.revoked.toSorted().map((token) => token.split("-")[0])).toEqual([
      "access",
      "access",
      "refresh",
      "refresh",
    ]);
    expect(user.files()).toHaveLength(1);
    expect(await user.logins().logOut("far")).toEqual([]);
  });

  it("removes the login too if the server does not revoke it, and says so", async () => {
    await using place = await startPlace({ revocationStatus: 503 });
    const { server, user } = place;
    await logInAtOnce(user.logins(), server);

    expect(await user.logins().logOut("far")).toEqual([
      { url: server.url, problem: "the authorization server answered with the status 503" },
    ]);
    expect(user.files()).toEqual([]);
  });

  it("leaves no login behind that is renewed at the same time", async () => {
    await using place = await startPlace();
    const { authorization, server, user } = place;
    await logInAtOnce(user.logins(), server);
    const token = (await user.logins().find(server).token()) ?? "";
    authorization.expire();
    await Promise.all([user.logins().find(server).renew(token), user.logins().logOut("far")]);

    expect(user.files()).toEqual([]);
  });
});

it("a file that is no login counts as none", async () => {
  await using place = await startPlace();
  const { server, user } = place;
  await logInAtOnce(user.logins(), server);
  const [file = ""] = user.files();
  for (const text of ["", "{}", '{"tokens":{}}']) {
    writeFileSync(join(user.folder, file), text);
    expect(await user.logins().find(server).token()).toBeUndefined();
  }
});
