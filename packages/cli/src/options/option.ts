import type { z } from "zod";

/** One row of the table of options: all but the key and the schema, which has the default. */
export type OptionFacts = {
  /** The text of the help, the JSON Schema and the documentation */
  readonly help: string;
  /** The few words that the first screen of the help has; only options used most */
  readonly brief?: string;
  /** The name of the value, such as `<dir>`; a switch has none */
  readonly value?: `<${string}>`;
  /** `list`: commas separate values too; `paths`: only in a variable, since a path may contain one */
  readonly repeatable?: "list" | "paths";
  /**
   * `help`, the default: shown by `budgie serve --help`. `file`: a key of the configuration file, whose flag and variable still work.
   * `hidden`: a flag for users of the first budgie.
   */
  readonly visibility?: "help" | "file" | "hidden";
};

type GroupedFacts = OptionFacts & { readonly group: string };

const FACTS = new Map<z.ZodType, OptionFacts>();
const GROUPS = new Map<z.ZodType, string>();

/** Returns the schema of an option, with its facts on record. */
export function option<Schema extends z.ZodType>(schema: Schema, facts: OptionFacts): Schema {
  const described = schema.describe(facts.help);
  FACTS.set(described, facts);
  return described;
}

/** Returns options that the help shows below one heading. */
export function group<Shape extends Readonly<Record<string, z.ZodType>>>(heading: string, options: Shape): Shape {
  for (const schema of Object.values(options)) GROUPS.set(schema, heading);
  return options;
}

/** Finds the facts of an option by its schema. */
export function factsOf(schema: z.ZodType): GroupedFacts {
  return { help: "", ...FACTS.get(schema), group: GROUPS.get(schema) ?? "" };
}
