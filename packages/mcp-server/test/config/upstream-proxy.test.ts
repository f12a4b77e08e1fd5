import { describe, expect, it } from "vitest";
import { findUpstreamProxy } from "../../src/config/check-sandbox-options.ts";

describe("findUpstreamProxy", () => {
  it.each([
    [{}, undefined],
    [{ HTTPS_PROXY: "http://a:1", https_proxy: "http://b:1" }, "http://a:1"],
    [{ HTTPS_PROXY: "", https_proxy: "http://b:1" }, "http://b:1"],
    [{ ALL_PROXY: "http://c:1" }, "http://c:1"],
    [{ ALL_PROXY: "socks5://c:1", all_proxy: "HTTP://d:1" }, "HTTP://d:1"],
    [{ ALL_PROXY: "socks5h://c:1" }, undefined],
    [{ HTTP_PROXY: "http://e:1", http_proxy: "http://e:1" }, undefined],
  ])("of %j is %j", (env, expected) => {
    expect(findUpstreamProxy(env)).toBe(expected);
  });
});
