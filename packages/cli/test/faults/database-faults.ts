import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { loadKiroLogin } from "../../../sandbox/src/login/kiro-login.ts";
import { createSessionDatabase } from "../../../sandbox/src/login/session-database.ts";
import { makeEndless } from "../../../sandbox/test/login/hostile-database.ts";
import { toEngineVariables, waitFor, type Budgie } from "../helpers/start-budgie.ts";
import { endInTime } from "./helpers/end-in-time.ts";
import type { Fault } from "./fault.ts";
import { PATIENCE_MS, type FaultPlace } from "./helpers/fault-place.ts";

const KEEP = ["--keep-sessions"];
// The name of a file that may contain a login, so that an export omits and reports it: a terminal would take it for a title.
const MAKE_OBEYED = `cd "$(mktemp -d "$HOME/$(printf 'title\\033]0;X\\007')XXX")" && : >data.sqlite3 && cd "$OLDPWD"`;
// An agent that may use a shell.
const AGENT = "shell-worker";

/** Faults of an agent whose database takes forever to read. */
export const DATABASE_FAULTS: readonly Fault[] = [
  {
    name: "the agent's database has no end when its login is renewed",
    on: "engine",
    async inject(place) {
      const renewing = await renew(place);
      const other = place.call();
      expect((await other.told).text).toContain(other.word);
      expect(await renewing.told).toMatchObject({ structuredContent: { code: "SESSION_UNUSABLE" } });
    },
  },
  {
    name: "budgie gets SIGTERM while it reads such a database",
    on: "engine",
    async inject(place) {
      const { told } = await renew(place);
      await endInTime(place.budgie());
      expect((await told)?.structuredContent?.["response"]).toBeUndefined();
    },
  },
  {
    name: "the agent's database has no end when budgie ends with --keep-sessions",
    on: "engine",
    async inject(place) {
      const { keeping, session } = await keepSession(place);
      await endInTime(keeping);
      await place.user.run(["sessions", "rm", session], toEngineVariables());
    },
  },
  {
    name: "the agent's database has no end, and a name of its home controls terminals, when its session is exported",
    on: "engine",
    async inject(place) {
      const { user } = place;
      const { keeping, session } = await keepSession(place, MAKE_OBEYED);
      const file = join(user.host.home, "exported.tar");
      const { exitCode, stderr } = await user.run(["sessions", "export", session, file], toEngineVariables());
      expect({ exitCode, stderr }).toEqual({
        exitCode: 0,
        stderr: expect.stringMatching(/^(budgie: Left out: [^\p{C}]+\n){2}$/u),
      });
      expect(stderr).toMatch(/data\.sqlite3", with the conversation: /);
      expect(stderr).toContain("/title?]0;X?");
      await endInTime(keeping);
      await user.run(["sessions", "rm", session], toEngineVariables());
    },
  },
];

const RENEW = "UPDATE auth_kv SET value = replace(value, '-access', '-renewed') WHERE key LIKE '%:token'";

/** Begins a turn with a renewed login, and waits until budgie reads its database. `told` is `undefined` if the call is cut off. */
async function renew(place: FaultPlace) {
  const { host } = place.user;
  const sessionId = await plantDatabase(place, place.budgie());
  host.changeDatabase(RENEW);
  const told = place
    .budgie()
    .ask(AGENT, { prompt: "Go on.", sessionId })
    .catch(() => undefined);
  const scratch = join(host.home, ".local", "state", "budgie", "scratch");
  const isAtIt = (): boolean =>
    readdirSync(scratch, { recursive: true }).some((name) => String(name).endsWith("copy.sqlite3"));
  await waitFor(isAtIt, PATIENCE_MS);
  return { told };
}

async function keepSession(
  place: FaultPlace,
  first?: string,
): Promise<{ readonly keeping: Budgie; readonly session: string }> {
  const keeping = await place.user.start({ sandbox: true, args: KEEP });
  return { keeping, session: await plantDatabase(place, keeping, first) };
}

/** Makes an agent run a command, and then replace its database with an endless one. Returns the session. */
async function plantDatabase({ user }: FaultPlace, budgie: Budgie, first = "true"): Promise<string> {
  const login = await loadKiroLogin(user.host.dataDir);
  if (login === undefined) throw new Error("The user has no login.");
  const database = await createSessionDatabase(login, join(user.host.home, "tmp"));
  writeFileSync(join(user.workspace, "endless"), makeEndless(database, "state"), { mode: 0o666 });
  const plant = 'cp endless "$HOME/new" && mv "$HOME/new" "$HOME/.local/share/kiro-cli/data.sqlite3"';
  const prompt = `[[run: ${first} && ${plant}]]`;
  const { structuredContent } = await budgie.ask(AGENT, { prompt });
  return String(structuredContent?.["sessionId"]);
}
