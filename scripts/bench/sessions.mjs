// Compares the first turns of a budgie with turns after 200 of them, while 50 sessions are open.
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { toRows } from "./lib/table.mjs";

const SESSIONS = 50;
const EARLY = "follow-up turns 1 to 20";
const LATE = "follow-up turns 181 to 200";
const TURNS = 200;
const COMPARED = 20;

export const measureSessions = () =>
  withPlace(async (place) => {
    const server = await place.startServer(SANDBOX);
    const sessions = [];
    for (let number = 0; number < SESSIONS; number++) sessions.push(await server.newSession());
    const times = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const began = performance.now();
      await server.followUp(sessions[SESSIONS - 1]);
      times.push(performance.now() - began);
      if (turn % 10 === 0) process.stderr.write(`turn ${turn} of ${TURNS}\r`);
    }
    const compared = new Map([
      [EARLY, times.slice(0, COMPARED)],
      [LATE, times.slice(-COMPARED)],
    ]);
    // There is one run, whatever the number of rounds.
    return { rounds: 1, rows: toRows(compared, () => EARLY), over: [] };
  });
