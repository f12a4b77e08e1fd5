import type { Credentials } from "../profile/credentials.ts";
import { inspectKiroLogin } from "./inspect-kiro-login.ts";
import { createLoginSync } from "./login-sync.ts";
import type { Login } from "./login.ts";

export type KiroLoginOptions = {
  /** The folder of the host's `data.sqlite3`, such as `~/.local/share/kiro-cli` */
  readonly dataDir: string;
  /** The part of the login that sandboxes get; default `full` */
  readonly credentials?: Credentials | undefined;
};

/** Creates the login of `kiro-cli`, which commands ask for as `kiro`. A `KIRO_API_KEY` among their variables replaces it. */
export function createKiroLogin({ credentials = "full", dataDir: kiroDataDir }: KiroLoginOptions): Login {
  return {
    name: "kiro",
    // Kiro prefers a stored login to an API key.
    toNeed: (env) => (env["KIRO_API_KEY"] ? "replaced" : "required"),
    open: (home) => createLoginSync({ ...home, kiroDataDir, credentials }),
    inspect: (hostEnv) => inspectKiroLogin(kiroDataDir, credentials, hostEnv["KIRO_API_KEY"]),
  };
}
