import { randomUUID } from "node:crypto";

const KILLED = 0.05;
const NEW_SESSION = 0.1;
const LATEST_KILL_MS = 800;
const AGENT = "code-reviewer";

/** Creates a user who runs one turn after another, mostly in the same session, and kills some of them. */
export function createSoakUser(place, random) {
  let sessionId;

  /** Runs a turn, and returns its outcome. */
  async function takeTurn() {
    if (random() < NEW_SESSION) sessionId = undefined;
    const killing = random() < KILLED ? KILLINGS[Math.floor(random() * KILLINGS.length)] : undefined;
    const word = `word-${randomUUID().slice(0, 8)}`;
    const cancelling = new AbortController();
    // A turn to be killed must still be running then.
    const prompt = `${killing === undefined ? "" : "[[sleep 300]]"}[[say: ${word}]]`;
    const afterMs = Math.round(random() * LATEST_KILL_MS);
    const [told] = await Promise.all([
      place.ask(AGENT, { prompt, sessionId }, cancelling.signal),
      killing?.({ place, cancelling, afterMs }),
    ]);
    sessionId = toNextSession(sessionId, told);
    return toEnd(told, word);
  }

  return { takeTurn };
}

function toNextSession(before, { code, end, sessionId }) {
  return end === "cut off" || code === "SESSION_NOT_FOUND" ? undefined : (sessionId ?? before);
}

function toEnd({ code, end, text }, word) {
  if (end === "answered" && !text.includes(word)) return "answered with something else";
  return end === "refused" ? (code ?? `refused: ${text}`) : end;
}

const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));

const KILLINGS = [
  async ({ afterMs, cancelling }) => {
    await wait(afterMs);
    cancelling.abort();
  },
  async ({ afterMs, place }) => {
    await wait(afterMs);
    await place.removeSomeTurn();
  },
];
