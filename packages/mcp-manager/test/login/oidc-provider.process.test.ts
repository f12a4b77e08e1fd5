import { startMockServer } from "@budgie/testkit";
import { expect, it } from "vitest";
import { createUser, logInAtOnce, manageAs, toServer } from "../helpers/logins.ts";
import { toText } from "../helpers/servers.ts";
import { browse, startOidcProvider } from "../helpers/start-oidc-provider.ts";

const ECHO = { name: "echo", arguments: {} };

it("a login at oidc-provider lasts over the end of its access token, shared by two processes, until it is ended there", async () => {
  await using authorization = await startOidcProvider({ tokenSeconds: 1 });
  await using mock = await startMockServer({ authorization, tools: [{ name: "echo" }] });
  using user = createUser();
  const server = toServer(mock.url, { scopes: ["tools"] });
  const { facts, page } = await logInAtOnce(user.logins(), server, browse);
  expect(page).toMatch(/^Logged in/);
  expect(facts).toMatchObject({ issuer: authorization.url, scope: "tools", isRenewable: true });

  const [one, other] = [manageAs(user.logins(), server).manager, manageAs(user.logins(), server).manager];
  await using _one = one;
  await using _other = other;
  await Promise.all([one.start(), other.start()]);
  const token = await user.logins().find(server).token();
  await expect.poll(() => authorization.accepts(`Bearer ${token}`)).toBe(false);
  // Using one refresh token twice would end the whole login.
  const results = await Promise.all([one.call("far", ECHO), other.call("far", ECHO)]);
  expect(results.map(toText)).toEqual(["{}", "{}"]);
  expect(authorization.granted[0]).toBe("authorization_code");

  await user.logins().logOut("far");
  await expect(one.call("far", ECHO)).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
  expect(one.list()).toMatchObject([{ state: "needs-auth" }]);
});

it("a refresh token that oidc-provider refuses ends the login", async () => {
  await using authorization = await startOidcProvider({ tokenSeconds: 1 });
  await using mock = await startMockServer({ authorization, tools: [{ name: "echo" }] });
  using user = createUser();
  const server = toServer(mock.url, { scopes: ["tools"] });
  await logInAtOnce(user.logins(), server, browse);
  const { manager } = manageAs(user.logins(), server);
  await using _ = manager;
  await manager.start();
  const token = await user.logins().find(server).token();
  await authorization.endLogins();
  await expect.poll(() => authorization.accepts(`Bearer ${token}`)).toBe(false);

  await expect(manager.call("far", ECHO)).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
  expect(user.files()).toEqual([]);
});

it("a scope that oidc-provider does not know ends the login in its words", async () => {
  await using authorization = await startOidcProvider({ tokenSeconds: 1 });
  await using mock = await startMockServer({ authorization });
  using user = createUser();

  await expect(logInAtOnce(user.logins(), toServer(mock.url, { scopes: ["other"] }), browse)).rejects.toThrow(
    "the authorization server says invalid_client_metadata: scope must only contain",
  );
});
