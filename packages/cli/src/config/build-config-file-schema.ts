import { z } from "zod";
import { isHomePath } from "@budgie/core";
import { AGENT_NAME, PLAIN_NAME } from "@budgie/core/agents";
import { configSchema, OPTION_KEYS, optionFacts, type ConfigKey } from "../options/config-schema.ts";
import { kagentSection, serverKeys } from "./kagent-section.ts";
import {
  budget,
  egress,
  env,
  image,
  limits,
  path,
  restrictions as commonRestrictions,
  variables,
} from "./section-keys.ts";
import { workspaceSections } from "./workspace-section.ts";

// Messages complete the sentence "Expected "egress" in "budgie.json" to be <message>."
const restrictions = {
  ...commonRestrictions,
  maxConcurrent: z.int("a whole number of at least 1").min(1, "a whole number of at least 1").optional(),
};

const agentDescription = z
  .string("a text for the tool")
  .min(1, "a text for the tool")
  .describe("what the agent is for");

const homeFiles = z.record(z.string().refine(isHomePath), path, {
  error: ({ code }) =>
    code === "invalid_key" ? 'a path below a home, such as ".codex/auth.json"' : "an object of paths below a home",
});

const flag = z.boolean("true or false");

const mcpServer = {
  tools: z
    .array(z.string("a tool"), "a list of tools")
    .optional()
    .describe("the tools that may be called; all by default"),
  env: variables.default([]).describe("names of variables of budgie's environment that its entry may use as $NAME"),
  shared: flag
    .optional()
    .describe("whether all sessions use one instance, which ends with budgie; one each by default"),
  toolsHash: z
    .string('a hash as "budgie mcp tools" prints it')
    .regex(/^sha256:[\da-f]{64}$/, 'a hash as "budgie mcp tools" prints it')
    .optional()
    .describe("the hash of the tools that you approved, so that other descriptions are reported"),
  refuseOtherTools: flag
    .optional()
    .describe("whether a server whose tools are not those of toolsHash is refused; only reported by default"),
};

const mcpServers = z
  .record(
    z.string().regex(PLAIN_NAME),
    z.discriminatedUnion(
      "run",
      [
        z.strictObject({
          run: z
            .literal("sandbox")
            .optional()
            .describe("where its program runs: in a container of its own, without a workspace"),
          image: image.describe("the image of its container; that of all agents by default"),
          ...egress,
          ...mcpServer,
        }),
        z.strictObject({
          run: z.literal("host").describe("where its program runs: on this machine, with your rights"),
          ...mcpServer,
        }),
      ],
      { error: ({ code }) => (code === "invalid_union" ? '"sandbox" or "host"' : "an object") },
    ),
    { error: ({ code }) => (code === "invalid_key" ? "the name of an MCP server" : "an object") },
  )
  .describe(
    'MCP servers of the agent\'s file, or for a program of "~/.kiro/settings/mcp.json", that it gets in a sandbox, and that "budgie mcp" may start',
  );

export type McpSection = z.infer<typeof mcpServers>[string];

const ownEnv = env.describe(
  "variables that it needs, such as its key: names of budgie's own, or by name a text, or $NAME for a variable of budgie's",
);

const ownBudget = budget.describe("the most that it may use, beside what all may");

const texts = z.array(z.string("a text"), "a list of texts");

/** The section of a Kiro agent, of a program that speaks ACP, or of a server that speaks A2A. */
export const agentSection = z.discriminatedUnion(
  "protocol",
  [
    z.strictObject({
      protocol: z.literal("kiro").optional(),
      env: ownEnv,
      ...restrictions,
      budget: ownBudget,
      mcp: mcpServers.optional(),
    }),
    z.strictObject({
      protocol: z.literal("acp").describe("the Agent Client Protocol, which the program speaks on stdin and stdout"),
      description: agentDescription,
      command: z.string("a program").min(1, "a program").describe("the program; with --sandbox, the one in the image"),
      args: texts.default([]).describe("its arguments"),
      sandboxArgs: texts.optional().describe("more arguments with --sandbox, such as to turn its own sandbox off"),
      env: ownEnv,
      home: homeFiles.optional().describe("your files to copy into its home in a sandbox, by the path below the home"),
      image: image.describe("the image of its sandbox; that of all agents by default"),
      model: z
        .string("a model")
        .min(1, "a model")
        .optional()
        .describe("the model to ask for; the program's by default"),
      permission: z
        .enum(["allow", "deny"], '"allow" or "deny"')
        .default("allow")
        .describe("the answer when it asks whether it may use a tool; the sandbox is what holds it"),
      tokenBasis: z
        .enum(["turn", "thread", "request"], '"turn", "thread" or "request"')
        .optional()
        .describe("what the tokens in its answer to a prompt are the sum of; budgie knows it of some programs"),
      ...restrictions,
      budget: ownBudget,
      mcp: mcpServers.optional(),
    }),
    z.strictObject({
      protocol: z.literal("a2a").describe("the Agent2Agent protocol, which a server elsewhere speaks"),
      description: agentDescription,
      ...serverKeys,
      timeout: restrictions.timeout,
      maxConcurrent: restrictions.maxConcurrent,
      budget: ownBudget,
    }),
  ],
  { error: ({ code }) => (code === "invalid_union" ? '"kiro", "acp" or "a2a"' : "an object") },
);

// A file does not name another, and its hosts and roots are merged by rules of their own.
const APART: ReadonlySet<ConfigKey> = new Set(["config", "egress", "env", "allowHost", "allowPreset", "allowRoot"]);

/** The options that a file gives in the same form as the command line. */
export const FILE_OPTIONS = OPTION_KEYS.filter((key) => !APART.has(key));

/** Returns the schema of a configuration file: every option but `--config`, and a section for each agent. */
export function buildConfigFileSchema() {
  return z.strictObject(
    {
      $schema: z
        .string("the address of a JSON Schema")
        .optional()
        .describe("the JSON Schema of this file, for editors"),
      ...Object.fromEntries(FILE_OPTIONS.map((key) => [key, fileSchema(key)])),
      ...describeAll({ ...egress, env }),
      limits: limits
        .optional()
        .describe(
          "the limits of all sandboxes, higher or lower than the defaults; more than the machine has is all of it",
        ),
      budget: budget.describe("the most that all agents together may use: of a call, a session and a day"),
      allowRoot: z
        .array(path, "a list of paths")
        .min(1, "a list of at least one path")
        .optional()
        .describe(explainKey("allowRoot")),
      agents: z
        .record(z.string().regex(AGENT_NAME), agentSection, {
          error: ({ code }) => (code === "invalid_key" ? "the name of an agent" : "an object"),
        })
        .default({})
        .describe(
          "single agents, by name: what they may do, which can only be less than all may, and agents beside Kiro's",
        ),
      workspaces: workspaceSections,
      kagent: kagentSection.optional(),
      notify: texts
        .min(1, "a list of at least a program")
        .optional()
        .describe(
          "a command, as its program and arguments, to run when a turn ends, was refused something, or meets a budget; it gets the facts as JSON on its stdin",
        ),
      mcpRegistry: path
        .optional()
        .describe('a file as registries of MCP servers write it, for entries of the type "registry" in agents\' files'),
    },
    "an object",
  );
}

/** Returns the schema of an option's value in JSON, with booleans for switches, and numbers instead of text. */
function fileSchema(key: ConfigKey): z.ZodType {
  const schema = configSchema.shape[key];
  const read = (text: string): unknown => schema.safeParse(text).data;
  const description = explainKey(key);
  const fallback = schema.safeParse(undefined).data;
  if (typeof read("true") === "boolean") return flag.default(fallback === true).describe(description);
  if (typeof read("1") !== "number") return schema.describe(description);
  const fault = (value: unknown): string => schema.safeParse(String(value)).error?.issues[0]?.message ?? "a number";
  const number = z.number("a number").refine((value) => schema.safeParse(String(value)).success, {
    error: ({ input }) => fault(input),
  });
  return (typeof fallback === "number" ? number.default(fallback) : number.optional()).describe(description);
}

function describeAll<Shape extends Partial<Record<ConfigKey, z.ZodType>>>(shape: Shape): Shape {
  const described = Object.entries(shape).map(([key, schema]) => [key, schema.describe(explainKey(key as ConfigKey))]);
  return Object.fromEntries(described) as Shape;
}

/** Returns an option's help text, without the parts that apply only to the command line. */
function explainKey(key: ConfigKey): string {
  return optionFacts(key).help.replace("; repeatable", "");
}

/** Returns the JSON Schema of a configuration file. */
export function toConfigJsonSchema(): Readonly<Record<string, unknown>> {
  return { title: "The configuration file of budgie", ...z.toJSONSchema(buildConfigFileSchema(), { io: "input" }) };
}
