import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { loadSqlite } from "@budgie/store";
import { DATABASE } from "@budgie/sandbox/login";
import type { Claim, Probe } from "../probe/claim.ts";
import { renewLogin } from "../lab/fake-home.ts";
import { held, through, untried } from "../probe/verdicts.ts";

/** The path of an agent's database, in which the shell expands the home. */
const FILE = `"$HOME/.local/share/kiro-cli/${DATABASE}"`;
// Each attack writes this expression's value when a row is written; the marker in the file proves that it ran.
const MADE = "hex(new.key)";
const MARK = Buffer.from("kirocli:odic:token").toString("hex").toUpperCase();
const TRIGGER = `CREATE TRIGGER made AFTER INSERT ON auth_kv BEGIN INSERT OR IGNORE INTO state VALUES (${MADE}, 1); END`;

export const DATABASE_CLAIMS: readonly Claim[] = [
  {
    id: "copied-database",
    promise: "Nothing that an agent defines in its database runs when budgie writes a renewed login.",
    protections: ["copied-rows"],
    probes: [
      makeProbe("have a trigger run", { sql: TRIGGER }),
      makeProbe("have a trigger run whose type is spelled TRIGGER", {
        sql: TRIGGER,
        patch: ["triggermade", "TRIGGERmade"],
      }),
      makeProbe("have the expression of an index run", { sql: "CREATE INDEX made ON auth_kv (hex(key))" }),
      makeProbe("have the expression of a partial index run", {
        sql: `CREATE INDEX made ON auth_kv (hex(key)) WHERE hex(key) <> ''`,
      }),
      makeProbe("have the expression of a generated column run", {
        sql: "DROP TABLE auth_kv; CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT, made AS (hex(key)) STORED)",
      }),
      makeProbe("have the expression of a default value run", {
        sql: `DROP TABLE auth_kv; CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT, made DEFAULT ('${MARK.slice(0, 5)}' || '${MARK.slice(5)}'))`,
      }),
    ],
  },
];

/** Changes to a database that would run an expression. */
type Spoiling = {
  readonly sql: string;
  /** Bytes to replace, and others of the same length */
  readonly patch?: readonly [string, string];
};

/** Creates a probe that is held if the next renewal of the login makes the session unusable and runs nothing. */
function makeProbe(name: string, spoiling: Spoiling): Probe {
  return {
    name,
    async attempt(lab) {
      const [session, directory] = [await lab.open({ credentials: "full" }), await lab.makeDirectory()];
      const turn = { session, directory, login: "kiro" } as const;
      const sh = (script: string) => lab.run(["/bin/sh", "-c", script], turn);
      const planted = await sh(`cat ${FILE} > database`);
      if (planted.exit.exitCode !== 0) return untried(`it could not be planted: ${planted.stderr}`);
      await spoil(join(directory, "database"), spoiling);
      await sh(`cat database > "$HOME/new" && mv "$HOME/new" ${FILE}`);
      await renewLogin(lab.host);
      const refusal = await lab.run(["/bin/true"], turn).then(
        () => undefined,
        (error: Error) => error,
      );
      if (refusal instanceof BudgieError && refusal.code === "SESSION_UNUSABLE") return held(refusal.message);
      if (refusal !== undefined) return untried(refusal.message);
      // Runs without a login, because budgie would write it again.
      const { exit } = await lab.run(["/bin/sh", "-c", `grep -aq ${MARK} ${FILE}`], { session, directory });
      return exit.exitCode === 0 ? through("it was run") : untried("the next turn ran, but the expression did not");
    },
  };
}

/** Edits the database like an agent that has SQLite or knows its format. */
async function spoil(file: string, { patch, sql }: Spoiling): Promise<void> {
  const database = (await loadSqlite())(file, { readOnly: false });
  database.exec(`DELETE FROM auth_kv; ${sql}`);
  database.close();
  if (patch === undefined) return;
  const [from, to] = patch;
  await writeFile(file, (await readFile(file, "latin1")).replace(from, to), "latin1");
}
