import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { type KiroRequest } from "../../kiro/v3/custom-agent.ts";
import { formatTitle } from "../answer/answer.ts";

/** The parts of the answer to `initialize` that tell the harnesses of Kiro apart. */
export const kiroCapabilities = z
  .object({ kiro: z.object({ extensionMethods: z.unknown() }).partial() })
  .partial()
  .nullish()
  .catch(undefined);

/** Throws `AGENT_NOT_FOUND` unless the requested harness answers: V3 names its extension methods, and V2 has none. */
export function proveHarness(
  agent: string,
  { harness }: KiroRequest,
  capabilities: z.infer<typeof kiroCapabilities>,
): void {
  const methods = capabilities?.kiro?.extensionMethods;
  const answers = methods === undefined || methods === null ? "v2" : "v3";
  if (answers === harness) return;
  throw unproven(agent, `the harness ${answers.toUpperCase()} of Kiro answers in place of ${harness.toUpperCase()}`);
}

/** The modes of a conversation, unchecked. */
export type KiroModes = { readonly currentModeId: string; readonly availableModes?: unknown } | null | undefined;

/**
 * Throws `AGENT_NOT_FOUND` unless V3 says that the agent of the request answers, and that it has it from its client: a repository's or
 * the user's agent could have the same id, and V3's own would answer in place of one that it does not take.
 */
export function proveAgent(agent: string, id: string, modes: KiroModes): void {
  const current = modes?.currentModeId;
  if (current !== id)
    throw unproven(agent, `Kiro chose ${current === undefined ? "none" : `"${formatTitle(current)}"`}`);
  const origins = findOrigins(id, modes?.availableModes);
  if (origins.length === 0) throw unproven(agent, "Kiro does not say where it has the agent from");
  const other = origins.find((origin) => origin !== "client");
  if (other !== undefined) throw unproven(agent, `Kiro has the agent from "${formatTitle(other)}" and not from budgie`);
}

/** Throws `AGENT_NOT_FOUND` for a notice of V3 that it did not take the agent or its rules. */
export function unproven(agent: string, reason: string): BudgieError {
  return new BudgieError(
    "AGENT_NOT_FOUND",
    `It is not certain that "${agent}" would answer: ${reason}. ` +
      `Check its file with "budgie agents check", and Kiro's version with "budgie doctor".`,
  );
}

const MOST_MODES = 1000;

const mode = z.object({
  id: z.string(),
  _meta: z.object({
    kiro: z.object({
      source: z.unknown().optional(),
      resource: z.object({ source: z.unknown().optional() }).nullish().catch(undefined),
    }),
  }),
});

/** Returns the origins of all modes of this id, in each of the places where V3 names one. */
function findOrigins(id: string, modes: unknown): readonly string[] {
  const listed: readonly unknown[] = Array.isArray(modes) ? modes.slice(0, MOST_MODES) : [];
  const found = listed.flatMap((each) => mode.safeParse(each).data ?? []).filter((each) => each.id === id);
  return found.flatMap(({ _meta: { kiro } }) => [kiro.source, kiro.resource?.source].flatMap(listOrigins));
}

function listOrigins(source: unknown): readonly string[] {
  if (typeof source === "string") return [source];
  const { origin } = (typeof source === "object" && source !== null ? source : {}) as { readonly origin?: unknown };
  return typeof origin === "string" ? [origin] : [];
}
