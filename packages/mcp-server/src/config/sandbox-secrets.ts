import type { Config } from "./config.ts";
import type { Host } from "../process/host.ts";

/** The secrets among the variables that a sandbox gets; it gets no other variable of the host. */
export function toSandboxSecrets(
  credentials: Config["credentials"],
  env: Host["env"],
): Readonly<Record<string, string>> {
  const apiKey = env["KIRO_API_KEY"];
  switch (credentials) {
    case "full":
    case "api-key":
      // An empty variable is how one is taken back.
      return apiKey ? { KIRO_API_KEY: apiKey } : {};
    // A key would be just what this choice keeps from the sandbox: a credential that lasts.
    case "access-token":
    case "none":
      return {};
  }
}
