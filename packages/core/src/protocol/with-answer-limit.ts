import { randomUUID } from "node:crypto";
import { cutText } from "../text/cut-text.ts";
import type { Protocol, ProtocolAnswer, ProtocolTurn } from "./protocol.ts";
import { toCountText } from "../text/to-count-text.ts";

/** A protocol whose longer answers are cut, with a note and a warning that say where the whole of it is. */
export function withAnswerLimit(protocol: Protocol, maxBytes: number): Protocol {
  return async (turn) => {
    const answer = await protocol(turn);
    const bytes = Buffer.byteLength(answer.response);
    if (bytes <= maxBytes) return answer;
    const sizes = `The answer has ${toCountText(bytes)} bytes and was cut after ${toCountText(maxBytes)}.`;
    const notice = `${sizes} ${toWhereabouts(turn, await keep(turn, answer))}`;
    return {
      ...answer,
      response: `${cutText(answer.response, maxBytes)}\n\n[budgie: ${notice}]`,
      warnings: [...answer.warnings, notice],
    };
  };
}

/** The name of the file in the home that holds the whole answer; `undefined` if it could not be written. */
async function keep({ session }: ProtocolTurn, { file, response }: ProtocolAnswer): Promise<string | undefined> {
  if (file !== undefined) return file;
  const name = `response-${randomUUID()}.txt`;
  // An answer that is cut is worth more than none.
  return session.appendFile(name, response).then(
    () => name,
    () => undefined,
  );
}

function toWhereabouts({ directory, session }: ProtocolTurn, file: string | undefined): string {
  if (file === undefined) return "The rest could not be kept. Ask the agent for it in parts.";
  const path = `${session.paths(directory).home}/${file}`;
  return `All of it is in "${path}" in the session's home: ask the agent there for the rest, in parts.`;
}
