import type { Credentials } from "@budgie/sandbox/profile";
import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";
import { scriptSearch } from "./secret-claims.ts";

export const LOGIN_CLAIMS: readonly Claim[] = [
  {
    id: "login-only",
    promise: "An agent gets only the login from the host's Kiro database, and no byte of conversations or other state.",
    protections: ["login-rows"],
    probes: [
      makeLoginProbe("find another project's conversation", "full", (lab) => `kept-${databaseCanary(lab)}`),
      makeLoginProbe(
        "find a deleted conversation in the database's free pages",
        "full",
        (lab) => `deleted-${databaseCanary(lab)}`,
      ),
      makeLoginProbe("find the host's other state", "full", (lab) => `state-${databaseCanary(lab)}`),
    ],
  },
  {
    id: "credentials",
    promise: "With less than --credentials full, an agent gets nothing that can renew the login; with none, no login.",
    protections: ["login-rows"],
    probes: [
      makeLoginProbe("find the refresh token with access-token", "access-token", ({ host }) => host.login.refresh),
      makeLoginProbe(
        "find the device registration's secret with access-token",
        "access-token",
        ({ host }) => host.login.registration,
      ),
      makeLoginProbe("find the access token with api-key", "api-key", ({ host }) => host.login.access),
      makeLoginProbe("find the refresh token with api-key", "api-key", ({ host }) => host.login.refresh),
      makeLoginProbe("find the access token with none", "none", ({ host }) => host.login.access),
      makeLoginProbe("find the refresh token with none", "none", ({ host }) => host.login.refresh),
    ],
  },
];

/** Creates a probe that searches for a secret in a turn with the login, in a session of its own. */
function makeLoginProbe(name: string, credentials: Credentials, toSecret: (lab: Lab) => string): Probe {
  return inSandbox(name, async (lab) => {
    const session = await lab.open({ credentials });
    return { script: scriptSearch([toSecret(lab)]), session, login: "kiro" };
  });
}

function databaseCanary({ host }: Lab): string {
  return host.canaries[".local/share/kiro-cli/data.sqlite3"];
}
