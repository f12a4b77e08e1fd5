import { BudgieError } from "../errors.ts";
import { toOption } from "../options.ts";
import type { ProtocolTurn } from "../protocol/protocol.ts";

// The agent can change it, and so make its own session unusable.
const FILE = ".budgie-protocol";
const ACP = "acp";
const MOST_KNOWN = 1000;

/** The way in which a session's conversation is held. Kiro keeps those of each way apart, and would silently begin a new one. */
type KiroWay = "acp" | "cli";

/**
 * Creates a check of turns: it rejects with `INPUT_INVALID` for a session whose conversation was begun in the other way, and returns
 * `undefined` where there is nothing to find out.
 */
export function createWayCheck(way: KiroWay): (turn: ProtocolTurn) => Promise<void> | undefined {
  // The file of any other session is read, which may ask the engine.
  const known = new Set<string>();
  function learn(id: string): undefined {
    const [oldest] = known.size < MOST_KNOWN ? [] : known;
    if (oldest !== undefined) known.delete(oldest);
    known.add(id);
  }

  async function findOut({ resume, session }: ProtocolTurn): Promise<void> {
    if (resume) await refuseOther(session, way);
    else await session.appendFile(FILE, ACP);
    learn(session.id);
  }

  return (turn) => {
    if (known.has(turn.session.id)) return undefined;
    return turn.resume || way === "acp" ? findOut(turn) : learn(turn.session.id);
  };
}

async function refuseOther(session: ProtocolTurn["session"], way: KiroWay): Promise<void> {
  const begun: KiroWay = (await session.readFile(FILE))?.startsWith(ACP) === true ? "acp" : "cli";
  if (begun === way) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `The session was begun with ${toOption("protocol")} "${begun}", and Kiro keeps its conversations apart from those of "${way}". ` +
      `Start budgie with that one again, or begin a new session.`,
  );
}
