import { expect, it } from "vitest";
import { pickSandboxSecrets } from "../../src/config/check-sandbox-options.ts";

it.each(["full", "api-key"] as const)("an API key is passed on with %s, unless it is empty", (credentials) => {
  expect(pickSandboxSecrets(credentials, { KIRO_API_KEY: "k", AWS_SECRET_ACCESS_KEY: "s" })).toEqual({
    KIRO_API_KEY: "k",
  });
  expect(pickSandboxSecrets(credentials, { KIRO_API_KEY: "" })).toEqual({});
  expect(pickSandboxSecrets(credentials, {})).toEqual({});
});

it.each(["access-token", "none"] as const)("an API key is not passed on with %s", (credentials) => {
  expect(pickSandboxSecrets(credentials, { KIRO_API_KEY: "k" })).toEqual({});
});
