import { createHash } from "node:crypto";
import { join } from "node:path";
import { ensureMountedFile } from "@budgie/core";
import { NESTING_VARIABLES } from "@budgie/core/policy";
import { readPlainFile } from "@budgie/core/text";
import { buildJavaTrustStore } from "../profile/java-trust-store.ts";
import { buildPasswd, type SandboxUser } from "../profile/sandbox-user.ts";

/** Paths of budgie's small files for sandboxes. */
export type MountedFiles = {
  /** Mounted over `/etc/passwd` */
  readonly passwdFile: string;
  /** Mounted over `/etc/resolv.conf` and `/etc/hosts`, in which an engine describes the host's network */
  readonly resolvFile: string;
  readonly hostsFile: string;
  /** Mounted where a budgie in the sandbox finds its nesting */
  readonly nestingFile: string;
  /** The user's certificates for Java; `undefined` for the image's own */
  readonly trustStoreFile?: string | undefined;
};

/** The content of `/etc/hosts` in a sandbox without services. */
export const LOCAL_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";

/** Writes the user's certificates for Java below the state directory, if they changed since. Throws if their file cannot be read. */
export function ensureTrustStore(stateDir: string, caFile: string): string {
  const store = buildJavaTrustStore(readPlainFile(caFile).text);
  const hash = createHash("sha256").update(store).digest("hex").slice(0, 16);
  return ensureMountedFile(join(stateDir, "sandbox"), `ca-${hash}.p12`, store);
}

/** Writes the files below the state directory for a process with `env`, if they are missing. */
export function ensureMountedFiles(
  stateDir: string,
  user: SandboxUser,
  env: Readonly<Record<string, string>>,
): MountedFiles {
  const folder = join(stateDir, "sandbox");
  const marks = Object.values(NESTING_VARIABLES).map((name) => [name, env[name] ?? ""] as const);
  return {
    passwdFile: ensureMountedFile(folder, `passwd-${user.uid}-${user.gid}`, buildPasswd(user)),
    resolvFile: ensureMountedFile(folder, "resolv.conf", "# There is no name server: budgie's proxy looks names up.\n"),
    hostsFile: ensureMountedFile(folder, "hosts", LOCAL_HOSTS),
    nestingFile: ensureMountedFile(
      folder,
      `depth-${marks.map(([, value]) => value).join("-")}`,
      marks.map(([name, value]) => `${name}=${value}\n`).join(""),
    ),
  };
}
