import { z } from "zod";
import { agentOptions } from "./agent-options.ts";
import { clusterOptions } from "./cluster-options.ts";
import { isolationOptions } from "./isolation-options.ts";
import { factsOf, type OptionFacts } from "./option.ts";
import { transportOptions } from "./transport-options.ts";
import { turnOptions } from "./turn-options.ts";

/** The table of options: flags, variables, keys of the configuration file, help, completion and JSON Schema come from it. */
export const configSchema = z.strictObject({
  ...agentOptions,
  ...isolationOptions,
  ...clusterOptions,
  ...turnOptions,
  ...transportOptions,
});

/** The name of an option, as a key of {@link configSchema}. */
export type ConfigKey = keyof typeof configSchema.shape;

/** The names of the options, in the order of the help text. */
export const OPTION_KEYS = Object.keys(configSchema.shape) as readonly ConfigKey[];

/** Returns all that the table says of an option but its schema. */
export function optionFacts(key: ConfigKey): OptionFacts & { readonly group: string } {
  return factsOf(configSchema.shape[key]);
}

/** Returns true if an option's value is a path. */
export function isPathOption(key: ConfigKey): boolean {
  return ["<dir>", "<file>"].includes(optionFacts(key).value ?? "");
}

/** Lists the values of an option that has a fixed set; otherwise none. */
export function listChoices(key: ConfigKey): readonly string[] {
  return choicesOf(configSchema.shape[key]);
}

function choicesOf(schema: unknown): readonly string[] {
  if (schema instanceof z.ZodEnum) return Object.values(schema.enum).map(String);
  if (schema instanceof z.ZodArray) return choicesOf(schema.element);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return choicesOf(schema.unwrap());
  return [];
}
