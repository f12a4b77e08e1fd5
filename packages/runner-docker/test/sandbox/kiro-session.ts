import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createSessionId, type Command, type RunnerSession } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import type { HostHome } from "@budgie/testkit";
import { KIRO_IMAGE, run, runCommand, type DockerPlace, type Ran } from "../helpers/docker-place.ts";

/** A session with the stand-in for kiro-cli, for a host's user. */
export type KiroSession = {
  readonly session: RunnerSession;
  readonly kiro: (prompt: string, env?: Command["env"]) => Promise<Ran>;
  readonly sh: (script: string) => Promise<Ran>;
  /** Queries the session's database in its volume */
  readonly query: (sql: string) => Promise<readonly unknown[]>;
};

/** Opens a session on a workspace. */
export async function openKiroSession(place: DockerPlace, host: HostHome, directory: string): Promise<KiroSession> {
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir });
  const session = await runner.openSession(createSessionId());
  const sh = (script: string) => run(session, directory, script);
  const command: Command = {
    argv: ["kiro-cli", "chat", "--no-interactive", "--agent", "shell-worker", "--resume"],
    env: {},
    projections: [{ source: host.agentsDir, home: ".kiro/agents" }],
    login: "kiro",
    hidden: KIRO_HIDDEN_PATHS,
  };
  return {
    session,
    sh,
    kiro: (prompt, env = {}) => runCommand(session, { ...command, env }, { directory, input: prompt }),
    async query(sql) {
      const { stdout } = await sh('cd "$HOME/.local/share/kiro-cli" && base64 -w0 data.sqlite3');
      const path = join(place.root, "copy.sqlite3");
      writeFileSync(path, Buffer.from(stdout, "base64"));
      const database = new Database(path);
      try {
        return database.prepare(sql).raw().all().flat();
      } finally {
        database.close();
      }
    },
  };
}

/** Changes a host's database, as the user's own Kiro does. */
export function changeHost({ database }: HostHome, sql: string): void {
  const opened = new Database(database);
  opened.exec(sql);
  opened.close();
}

/** A login after the user has logged in again. */
export const ROTATE = "UPDATE auth_kv SET value = replace(value, '-access', '-rotated') WHERE key LIKE '%:token'";
