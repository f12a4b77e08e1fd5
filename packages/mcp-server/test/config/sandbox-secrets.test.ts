import { expect, it } from "vitest";
import { toSandboxSecrets } from "../../src/config/sandbox-options.ts";

it.each(["full", "api-key"] as const)("an API key is passed on with %s, unless it is empty", (credentials) => {
  expect(toSandboxSecrets(credentials, { KIRO_API_KEY: "k", AWS_SECRET_ACCESS_KEY: "s" })).toEqual({
    KIRO_API_KEY: "k",
  });
  expect(toSandboxSecrets(credentials, { KIRO_API_KEY: "" })).toEqual({});
  expect(toSandboxSecrets(credentials, {})).toEqual({});
});

it.each(["access-token", "none"] as const)("an API key is not passed on with %s", (credentials) => {
  expect(toSandboxSecrets(credentials, { KIRO_API_KEY: "k" })).toEqual({});
});
