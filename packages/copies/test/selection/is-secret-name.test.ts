import { expect, it } from "vitest";
import { isSecretName } from "../../src/selection/is-secret-name.ts";

it.each([
  ".env",
  ".env.local",
  ".ENV",
  ".envrc",
  ".env-production",
  ".env_local",
  "production.env",
  ".dev.vars",
  ".dev.vars.staging",
  "credentials",
  "AuthKey_1.p8",
  "prod.auto.tfvars.json",
  "secrets.yaml",
  "kubeconfig",
  "server.pem",
  "id_ed25519",
  "tls.key",
  "terraform.tfstate.1234.backup",
])("%s is the name of a secret", (name) => expect(isSecretName(name)).toBe(true));

it.each([
  "env.ts",
  ".env.example",
  ".dev.vars.example",
  ".environment",
  "credentials.ts",
  "pem.md",
  "id_ed25519.pub",
  "keys.ts",
  "environment",
])("%s is not the name of a secret", (name) => expect(isSecretName(name)).toBe(false));
