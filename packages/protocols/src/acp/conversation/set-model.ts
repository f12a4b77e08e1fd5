import { methods, RequestError } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { isV3 } from "../kiro/conversation-meta.ts";
import type { AcpProgram } from "./acp-program.ts";
import type { Connection } from "./connection.ts";
import { CODES, formatRequestError } from "./format-request-error.ts";

type ModelOf = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly id: string;
  readonly limitMs: () => number;
  readonly program: Pick<AcpProgram, "kiro" | "model">;
  readonly state: { readonly configOptions?: unknown } | null;
};

/** Asks for a model. Resolves to a warning if the program knows no way to choose one. */
export async function setModel(
  connection: Connection,
  { agent, id, limitMs, program, state }: ModelOf,
): Promise<readonly string[]> {
  const { model } = program;
  if (model === undefined) return [];
  // V3 names its options only some time after it has begun.
  const configId = findModelOption(state?.configOptions) ?? (isV3(program) ? "model" : undefined);
  const [method, params] =
    configId === undefined
      ? ["session/set_model", { sessionId: id, modelId: model }]
      : [methods.agent.session.setConfigOption, { sessionId: id, configId, value: model }];
  try {
    await connection.request(method, params, { answer: z.unknown(), timeoutMs: limitMs() });
    return [];
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.code === CODES.methodNotFound) {
      return [`The program of the agent "${agent}" cannot be given a model, so its own default answered.`];
    }
    throw new BudgieError(
      "AGENT_FAILED",
      `The agent "${agent}" refused the model "${model}" (${formatRequestError(error)}). Choose another.`,
      { cause: error },
    );
  }
}

const MOST_OPTIONS = 1000;

/** Returns the id of the option for the model. */
function findModelOption(options: unknown): string | undefined {
  const listed: readonly unknown[] = Array.isArray(options) ? options.slice(0, MOST_OPTIONS) : [];
  return listed.flatMap((each) => modelOption.safeParse(each).data?.id ?? [])[0];
}

// Kiro's has no category.
const modelOption = z.union([
  z.object({ id: z.string().max(1000), category: z.literal("model") }),
  z.object({ id: z.literal("model") }),
]);
