import { isAbsolute, join } from "node:path";
import type { GuardedPath } from "./workspace-rules.ts";

/** Where the user keeps what no sandbox is given. */
export type UserPaths = {
  readonly home: string;
  readonly agentsDir: string;
  readonly promptsDir: string;
  readonly kiroDataDir: string;
  readonly stateDir: string;
  readonly sessionsDir: string;
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDir: string | undefined;
};

/** What no workspace of a sandbox may hold, besides what its runner adds. */
export function toGuardedPaths(paths: UserPaths): readonly GuardedPath[] {
  const { agentsDir, home, kiroDataDir, promptsDir, runtimeDir = "", sessionsDir, stateDir } = paths;
  return [
    { path: home, what: "your home directory", mayHoldWorkspaces: true },
    { path: join(home, ".kiro"), what: "Kiro's settings and sessions" },
    { path: join(home, ".ssh"), what: "your SSH keys" },
    { path: join(home, ".aws"), what: "your AWS credentials" },
    { path: join(home, ".gnupg"), what: "your GnuPG keys" },
    { path: agentsDir, what: "the agents' files" },
    { path: promptsDir, what: "the agents' prompt files" },
    { path: kiroDataDir, what: "Kiro's login and conversations" },
    { path: stateDir, what: "budgie's own state" },
    { path: sessionsDir, what: "budgie's session folders" },
    ...(isAbsolute(runtimeDir) ? [{ path: runtimeDir, what: "the sockets of your login" }] : []),
    ...KERNEL.map((path) => ({ path, what: "the system's own view of this machine" })),
    ...SERVICES.map((path) => ({ path, what: "the sockets of this machine's services", except: [home, "/run/media"] })),
    ...SYSTEM.map((path) => ({ path, what: "the system's own files", except: [home] })),
  ];
}

// Mounted into a container, they show the host's processes and their secrets, its settings and its devices.
const KERNEL = ["/proc", "/sys", "/dev"];

// Container engines have theirs here too. Access to containerd's socket is root access, even through a read-only mount.
const SERVICES = ["/run", "/var/run"];

// Passwords, keys, programs that start by themselves, and the data of services, some of which have their home there. The last
// line is macOS's.
const SYSTEM = (
  "/bin /boot /etc /lib /lib32 /lib64 /libx32 /root /sbin /usr " +
  "/var/backups /var/cache /var/lib /var/log /var/mail /var/spool " +
  "/Applications /Library /System /private/var/db /private/var/root"
).split(" ");
