import { startAuthorizationServer, startMockServer, type AuthorizationServerOptions } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { logInAtOnce, startPlace } from "../helpers/logins.ts";

describe("a login that fails", () => {
  it.each<[string, AuthorizationServerOptions, RegExp]>([
    ["the server's metadata are another's", { metadata: { issuer: "https://example.com" } }, /of another server\.$/],
    ["another server answers", { answer: { iss: "https://example.com" } }, /another authorization server answered\.$/],
    [
      "nothing says which server answers, though it would",
      { metadata: { authorization_response_iss_parameter_supported: true } },
      /another authorization server answered\.$/,
    ],
    [
      "the address is none for a browser",
      { metadata: { authorization_endpoint: "ftp://example.com" } },
      /no address that is safe to open\.$/,
    ],
    [
      "the server registers nobody",
      { metadata: { registration_endpoint: undefined } },
      /dynamic client registration\.$/,
    ],
    ["the user refuses it", { answer: { error: "access_denied" } }, /says access_denied\.$/],
    ["the server says what no page may show", { answer: { error: "\u001b[31m" } }, /says an unknown OAuth error\.$/],
  ])("since %s says so, and leaves an earlier one", async (_, options, message) => {
    await using place = await startPlace();
    await logInAtOnce(place.user.logins(), place.server);
    await using authorization = await startAuthorizationServer(options);
    await using mock = await startMockServer({ authorization });
    const [before] = place.user.files();
    const failing = logInAtOnce(place.user.logins(), { ...place.server, url: mock.url });

    await expect(failing).rejects.toMatchObject({ code: "LOGIN_REQUIRED", message: expect.stringMatching(message) });
    expect(place.user.files()).toEqual([before]);
    expect(authorization.granted).toEqual([]);
  });

  it("waits past requests that do not know its state", async () => {
    await using place = await startPlace();
    const { server, user } = place;
    const answers: number[] = [];
    let page: Promise<Response> | undefined;
    await user.logins().logIn(server, {
      onAddress(address) {
        const callback = new URL(address).searchParams.get("redirect_uri") ?? "";
        const wrong = ["?code=x&state=wrong", "?code=x", ""].map(async (query) => {
          answers.push((await fetch(`${callback}${query}`)).status);
        });
        void Promise.all(wrong).then(() => void (page = fetch(address)));
      },
    });
    await page;

    expect(answers).toEqual([400, 400, 400]);
  });

  it("ends in time if nobody opens the address", async () => {
    await using place = await startPlace();
    const { server, user } = place;
    const ended = new AbortController();
    const waiting = user.logins().logIn(server, {
      signal: ended.signal,
      onAddress: () => ended.abort(new DOMException("", "TimeoutError")),
    });

    await expect(waiting).rejects.toMatchObject({ code: "TIMED_OUT" });
  });
});
