import { BudgieError } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";
import { KINDS } from "./frame.ts";
import { wireError } from "./wire-error.ts";

/** The end of a wire. */
export type Side = "budgie" | "pod";

/** The header of a stream. Its details are of the other end's making, and the purpose's owner checks them. */
export type Opening = { readonly purpose: Purpose; readonly [detail: string]: unknown };

/**
 * The purpose of a stream. `control` is a request with its answer. `turn` carries an agent's stdin and stdout, and its end is the agent's;
 * the Pod opens `stderr` beside it. `egress` is a connection of the agent. `file` is one file.
 */
export type Purpose = "control" | "turn" | "stderr" | "egress" | "file";

const PURPOSES: Readonly<Record<Side, readonly Purpose[]>> = {
  budgie: ["control", "turn", "file"],
  pod: ["stderr", "egress", "file"],
};

const BOUNDS = { values: 1_000, depth: 8 };

/** Returns the opening that this side sent. */
export function parseOpening(side: Side, payload: Buffer): Opening {
  const { purpose, ...details } = parseObject(payload);
  const known = PURPOSES[side].find((name) => name === purpose);
  if (known === undefined) throw wireError("it opened a stream for a purpose that is not its own");
  return { ...details, purpose: known };
}

/** Returns an object as the payload of a frame. */
export function toPayload(kind: "open" | "end", value: Readonly<Record<string, unknown>>): Buffer {
  const payload = Buffer.from(JSON.stringify(value));
  const { most } = KINDS[kind];
  if (payload.length > most) throw new BudgieError("INPUT_INVALID", `This takes more than ${most} bytes. Send a file.`);
  return payload;
}

/** Returns the object that a frame carries. */
export function parseObject(payload: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseBoundedJson(payload, BOUNDS);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch (error) {
    throw wireError("it sent a value that is not JSON within bounds", { cause: error });
  }
  throw wireError("it sent a value that is no object");
}
