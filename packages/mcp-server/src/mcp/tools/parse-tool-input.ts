import { z } from "zod";
import { BudgieError, EGRESS_MODES } from "@budgie/core";

// A call can only tighten the policy, and no mode is looser than "bridge".
const CALL_MODES = EGRESS_MODES.filter((mode) => mode !== "bridge");

/** The input of an agent's tool. The descriptions are written for models. */
export const agentInput = z.strictObject({
  prompt: z
    .string("a text")
    .describe("What the agent should do. It knows nothing of your conversation: say all it must know."),
  directory: z
    .string("a text")
    .describe("Absolute path of the directory that the agent works in, or one below ~/. It must exist."),
  sessionId: z
    .string("a text")
    .optional()
    .describe(
      "To resume a conversation: the sessionId of an earlier answer of this agent, for the same directory. " +
        "Leave it out to begin a new one.",
    ),
  workspace: z
    .enum(["rw", "copy", "ro"], '"rw", "copy" or "ro"')
    .optional()
    .describe(
      '"copy" lets the agent work on a copy of the directory, which itself stays as it is; "ro" keeps it from changing anything. ' +
        "Leave it out for what is configured.",
    ),
  refresh: z
    .boolean("true or false")
    .optional()
    .describe(
      "With a sessionId: true has its copy take over what changed in the directory since it was made. Files that the agent " +
        "changed stay as it has them.",
    ),
  egress: z
    .enum(CALL_MODES, `one of ${CALL_MODES.join(", ")}`)
    .optional()
    .describe(
      '"none" cuts the agent off from every network, its own model included: for programs that need none. ' +
        '"allowlist" leaves it the hosts on its list. Leave it out for what is configured, which a call cannot exceed.',
    ),
  timeout: z
    .string("a text")
    .optional()
    .describe('How long the agent may take, such as "90s" or "5m", if that is less than configured.'),
  budget: z
    .string("a text")
    .optional()
    .describe('The most that this call may use, such as "2 credits" or "1 USD", if that is less than configured.'),
});

/** The input of an agent's tool with `--sticky-sessions`. */
export const stickyAgentInput = agentInput.extend({
  sessionId: z
    .string("a text")
    .optional()
    .describe(
      'Leave it out to resume your last conversation with this agent about the directory, if there is one. "new" ' +
        "begins a new one, and the sessionId of an earlier answer resumes that one.",
    ),
});

export type AgentInput = z.infer<typeof agentInput>;

const agent = z.string("a text").describe("The agent's name, as list_agents has it.");

/** The input of `invoke_agent`. */
export const invokeInput = z.strictObject({ agent, ...agentInput.shape });

/** The input of `invoke_agent` with `--sticky-sessions`. */
export const stickyInvokeInput = z.strictObject({ agent, ...stickyAgentInput.shape });

/** Returns the input of `invoke_parallel`, which takes this many agents at most. */
export function buildParallelInput(most: number) {
  const tasks = z
    .array(z.strictObject({ agent: z.string("a text"), prompt: agentInput.shape.prompt }, "an object"), "a list")
    .min(1, "a list of at least one agent with its prompt")
    .max(most, `a list of at most ${most} agents`);
  return z.strictObject({
    directory: agentInput.shape.directory,
    agents: tasks.describe(
      "What to run: the name of an agent or of its tool, and its prompt. An agent may be there more than once.",
    ),
    workspace: z
      .enum(["copy", "ro"], '"copy" or "ro"')
      .optional()
      .describe('"ro" keeps all of them from changing anything. Leave it out for a copy each, where they may write.'),
    egress: agentInput.shape.egress,
    timeout: z
      .string("a text")
      .optional()
      .describe('How long the whole call may take, such as "5m". Each agent also has its own configured time.'),
    budget: agentInput.shape.budget.describe(
      'The most that each agent may use, such as "2 credits" or "1 USD", if that is less than configured.',
    ),
  });
}

export type ParallelInput = z.infer<ReturnType<typeof buildParallelInput>>;

/** The input of a tool without arguments. */
export const noInput = z.strictObject({});

/** Returns the input that a tool lists: without what only copies have, if there are none. */
export function withoutCopies<Schema extends typeof agentInput>(schema: Schema): z.ZodObject {
  const known = listed.get(schema) ?? schema.omit({ refresh: true });
  listed.set(schema, known);
  return known;
}

// The schemas that clients get are cached by these.
const listed = new WeakMap<z.ZodObject, z.ZodObject>();

/** Checks a tool's arguments, of which `null` ones are omitted. Throws `INPUT_INVALID` naming the argument. */
export function parseToolInput<Schema extends z.ZodObject>(schema: Schema, value: unknown): z.infer<Schema> {
  // Kiro may add this argument to any call.
  const { __tool_use_purpose: _, ...given } = (value ?? {}) as Record<string, unknown>;
  // Clients in languages with optional fields send them.
  const input = Object.fromEntries(Object.entries(given).filter(([, argument]) => argument !== null));
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new BudgieError(
    "INPUT_INVALID",
    parsed.error.issues.map((issue) => explainIssue(issue, schema, input)).join(" "),
  );
}

function explainIssue(
  issue: z.core.$ZodIssue,
  { shape }: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
): string {
  const name = formatPlace(issue.path);
  if (issue.code === "unrecognized_keys") {
    const unknown = issue.keys.map((key) => JSON.stringify(key)).join(", ");
    if (name !== "") return `The argument "${name}" has no ${unknown}.`;
    const known = Object.keys(shape).join(", ") || "none";
    return `The tool has no argument ${unknown}. Its arguments are: ${known}.`;
  }
  if (issue.path.length === 1 && input[name] === undefined)
    return `The argument "${name}" is missing. ${shape[name]?.description ?? ""}`.trim();
  return `The argument "${name}" must be ${issue.message}.`;
}

/** Returns the place of an argument, such as `agents[1].prompt`; empty for the arguments themselves. */
function formatPlace([name = "", ...path]: z.core.$ZodIssue["path"]): string {
  return path.reduce<string>(
    (place, key) => (typeof key === "number" ? `${place}[${key}]` : `${place}.${String(key)}`),
    String(name),
  );
}
