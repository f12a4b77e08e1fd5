// Compares follow-up turns after a renewal of the login, which is then written into the session's database, for several sizes of it.
import { join } from "node:path";
import { openDatabase } from "../../packages/testkit/dist/kiro-cli/state/open-database.js";
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { toRows } from "./lib/table.mjs";

const MEGABYTES = [0.04, 1, 10, 50];
const BASE = "follow-up turn, login unchanged";
const DATABASE = "agent/.local/share/kiro-cli/data.sqlite3";
const ROW =
  "INSERT INTO history (command, shell, session_id, cwd, hostname, exit_code) VALUES (?, 'bash', 's', '/', 'h', 0)";

export const measureLogin = (rounds) =>
  withPlace(async (place) => {
    const server = await place.startServer(SANDBOX);
    await server.firstTurn();
    const cases = { [BASE]: server.followUpTurn };
    for (const megabytes of MEGABYTES) {
      const session = await server.newSession();
      await fill(place, session, Math.floor(megabytes));
      cases[`login renewed, database of ${megabytes} MB`] = async () => {
        renew(place.host);
        const began = performance.now();
        await server.followUp(session);
        const took = performance.now() - began;
        // Brings the base's session up to date, so that its measured turns renew no login.
        await server.followUpTurn();
        return [took];
      };
    }
    return { rows: toRows(await interleave(cases, rounds), () => BASE), over: [] };
  });

/** Fills the database of a session like its agent. Needs root and an engine on this machine. */
async function fill({ engine: { docker } }, session, megabytes) {
  if (megabytes === 0) return;
  const { Mountpoint } = await docker.getVolume(`budgie-session-${session}`).inspect();
  const database = openDatabase(join(Mountpoint, DATABASE), {});
  const add = database.prepare(ROW);
  for (let row = 0; row < megabytes; row++) add.run("x".repeat(2 ** 20));
  database.close();
}

let renewals = 0;

function renew(host) {
  const token = `token-${process.pid}-${renewals++}`;
  host.changeDatabase(
    `UPDATE auth_kv SET value = json_set(value, '$.access_token', '${token}') WHERE key = 'kirocli:odic:token'`,
  );
}
