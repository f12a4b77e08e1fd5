import { BudgieError } from "../errors.ts";
import { toOption } from "../options.ts";
import type { ProtocolTurn } from "../protocol/protocol.ts";

// The agent can change this file, which only makes its own session unusable.
const FILE = ".budgie-protocol";
const ACP = "acp";
const MOST_KNOWN = 1000;

/**
 * The transport with which a session's conversation was begun. Kiro keeps the conversations of the two apart, and would silently begin
 * a new one if it resumed over the other transport.
 */
type KiroTransport = "acp" | "cli";

/**
 * Creates a check of turns. It rejects with `INPUT_INVALID` if the conversation was begun with the other transport, and returns
 * `undefined` if there is nothing to check.
 */
export function createTransportCheck(transport: KiroTransport): (turn: ProtocolTurn) => Promise<void> | undefined {
  // Sessions whose transport is known. For any other the file is read, which may take a call to the engine.
  const known = new Set<string>();
  function learn(id: string): undefined {
    const [oldest] = known.size < MOST_KNOWN ? [] : known;
    if (oldest !== undefined) known.delete(oldest);
    known.add(id);
  }

  async function findOut({ resume, session }: ProtocolTurn): Promise<void> {
    if (resume) await refuseOther(session, transport);
    else await session.appendFile(FILE, ACP);
    learn(session.id);
  }

  return (turn) => {
    if (known.has(turn.session.id)) return undefined;
    return turn.resume || transport === "acp" ? findOut(turn) : learn(turn.session.id);
  };
}

async function refuseOther(session: ProtocolTurn["session"], transport: KiroTransport): Promise<void> {
  const begun: KiroTransport = (await session.readFile(FILE))?.startsWith(ACP) === true ? "acp" : "cli";
  if (begun === transport) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `The session was begun with ${toOption("protocol")} "${begun}", and Kiro keeps its conversations apart from those of "${transport}". ` +
      `Start budgie with that one again, or begin a new session.`,
  );
}
