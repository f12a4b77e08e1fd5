import { isAbsolute, join } from "node:path";
import type { GuardedPath } from "./workspace-rules.ts";

/** The user's folders that no sandbox is given. */
export type UserPaths = {
  readonly home: string;
  readonly agentsDir: string;
  readonly promptsDir: string;
  readonly kiroDataDir: string;
  readonly stateDir: string;
  readonly sessionsDir: string;
  /** Kiro's folder; default `~/.kiro` */
  readonly kiroDir?: string;
  /** The files that budgie reads as configuration; default none */
  readonly settings?: readonly GuardedPath[];
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDir: string | undefined;
};

/** Lists the paths that no workspace of a sandbox may hold. The runner adds its own. */
export function listGuardedPaths(paths: UserPaths): readonly GuardedPath[] {
  const { agentsDir, home, kiroDataDir, promptsDir, runtimeDir = "", sessionsDir, stateDir } = paths;
  const { kiroDir = join(home, ".kiro"), settings = [] } = paths;
  return [
    { path: home, what: "your home directory", mayHoldWorkspaces: true },
    { path: join(home, ".kiro"), what: "Kiro's settings and sessions" },
    { path: join(home, ".ssh"), what: "your SSH keys" },
    { path: join(home, ".aws"), what: "your AWS credentials" },
    { path: join(home, ".gnupg"), what: "your GnuPG keys" },
    { path: kiroDir, what: "Kiro's settings and sessions" },
    { path: join(kiroDir, "settings"), what: "Kiro's settings", settings: "folder" },
    { path: agentsDir, what: "the agents' files", settings: "folder" },
    { path: promptsDir, what: "the agents' prompt files", settings: "folder" },
    ...settings,
    { path: kiroDataDir, what: "Kiro's login and conversations" },
    { path: stateDir, what: "budgie's own state" },
    { path: sessionsDir, what: "budgie's session folders" },
    ...(isAbsolute(runtimeDir)
      ? [{ path: runtimeDir, what: "the sockets of your login, which XDG_RUNTIME_DIR names" }]
      : []),
    ...KERNEL.map((path) => ({ path, what: "the system's own view of this machine" })),
    ...SERVICES.map((path) => ({ path, what: "the sockets of this machine's services", except: [home, "/run/media"] })),
    ...SYSTEM.map((path) => ({ path, what: "the system's own files", except: [home] })),
  ];
}

// In a container, these mounts would show the host's processes and their secrets, its settings and its devices.
const KERNEL = ["/proc", "/sys", "/dev"];

// The sockets of container engines are here too. Access to containerd's socket is root access, even through a read-only mount.
const SERVICES = ["/run", "/var/run"];

// Passwords, keys, programs that start by themselves, and the data and home folders of services. The last line is for macOS.
const SYSTEM = (
  "/bin /boot /etc /lib /lib32 /lib64 /libx32 /root /sbin /usr " +
  "/var/backups /var/cache /var/lib /var/log /var/mail /var/spool " +
  "/Applications /Library /System /private/var/db /private/var/root"
).split(" ");
