import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toPasswd, type SandboxUser } from "./sandbox-user.ts";

/** Small files of budgie's own that sandboxes mount. */
export type MountedFiles = {
  /** Mounted over `/etc/passwd` */
  readonly passwdFile: string;
};

/** Has them below the state directory, written again where somebody cleared that away. */
export function ensureMountedFiles(stateDir: string, user: SandboxUser): MountedFiles {
  const folder = join(stateDir, "sandbox");
  return {
    passwdFile: ensureFile(folder, `passwd-${user.uid}-${user.gid}`, toPasswd(user)),
  };
}

/** Containers of this and of other budgies may be reading it. */
function ensureFile(folder: string, name: string, content: string): string {
  const path = join(folder, name);
  if (existsSync(path) && readFileSync(path, "utf8") === content) return path;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path, content, { mode: 0o644 });
  return path;
}
