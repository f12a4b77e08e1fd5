import { BudgieError, formatOption } from "@budgie/core";
import type { ProtocolTurn } from "@budgie/core/protocol";

// The agent can change this file, which only makes its own session unusable.
const FILE = ".budgie-protocol";
const MOST_KNOWN = 1000;

/** The harness of Kiro that answers. */
export type KiroHarness = "v2" | "v3";

/**
 * The transport with which a session's conversation was begun. Kiro keeps the conversations of the two apart, as those of its harnesses,
 * and would silently begin a new one if it resumed with another.
 */
type KiroTransport = "acp" | "cli";

/**
 * Creates a check of turns. It rejects with `INPUT_INVALID` if the conversation was begun with another transport or harness, and returns
 * `undefined` if there is nothing to check.
 */
export function createTransportCheck(
  transport: KiroTransport,
  harness: KiroHarness,
): (turn: ProtocolTurn) => Promise<void> | undefined {
  // Sessions whose transport is known. For any other the file is read, which may take a call to the engine.
  const known = new Set<string>();
  function learn(id: string): undefined {
    const [oldest] = known.size < MOST_KNOWN ? [] : known;
    if (oldest !== undefined) known.delete(oldest);
    known.add(id);
  }

  async function findOut({ resume, session }: ProtocolTurn): Promise<void> {
    if (resume) refuseOther(parseMark(await session.readFile(FILE)), { transport, harness });
    else await session.appendFile(FILE, MARKS[harness]);
    learn(session.id);
  }

  return (turn) => {
    if (known.has(turn.session.id)) return undefined;
    return turn.resume || transport === "acp" ? findOut(turn) : learn(turn.session.id);
  };
}

// A session without the file was begun with "cli", and one of an older budgie with V2.
const MARKS: Readonly<Record<KiroHarness, string>> = { v2: "acp", v3: "v3 over acp" };

type Begun = { readonly transport: KiroTransport; readonly harness: KiroHarness };

function parseMark(mark: string | undefined): Begun {
  if (mark?.startsWith(MARKS.v3) === true) return { transport: "acp", harness: "v3" };
  return { transport: mark?.startsWith(MARKS.v2) === true ? "acp" : "cli", harness: "v2" };
}

function refuseOther(begun: Begun, now: Begun): void {
  const option = begun.harness === now.harness ? "protocol" : "kiroHarness";
  const [then, today] = option === "protocol" ? [begun.transport, now.transport] : [begun.harness, now.harness];
  if (then === today) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `The session was begun with ${formatOption(option)} "${then}", and Kiro keeps its conversations apart from those of "${today}". ` +
      `Start budgie with that one again, or begin a new session.`,
  );
}
