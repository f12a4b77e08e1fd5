import { z } from "zod";
import { EGRESS_MODES } from "@budgie/core";
import { COST_FORM } from "@budgie/core/budget";
import { WORKSPACE_MODES } from "@budgie/core/policy";
import { PRESET_NAMES } from "@budgie/egress/allow-list";

// Messages complete the sentence "Expected "egress" in "budgie.json" to be <message>."

/** The schema of a path. */
export const path = z.string("a path").min(1, "a path");

const AMOUNT = /^(\d+)([kmg])$/i;

const UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

const amount = z
  .string('an amount such as "512m" or "2g"')
  .regex(AMOUNT, 'an amount such as "512m" or "2g"')
  .transform(parseBytes)
  .refine((bytes) => bytes >= 16 * 2 ** 20, 'at least "16m"')
  .optional();

function parseBytes(text: string): number {
  const [, number, unit = ""] = AMOUNT.exec(text) ?? [];
  return Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
}

/** The schema of limits. Engines refuse smaller values, or no agent can start with them. */
export const limits = z
  .strictObject(
    {
      memory: amount,
      cpus: z.number("a number of at least 0.01").min(0.01, "a number of at least 0.01").optional(),
      pids: z.int("a whole number of at least 16").min(16, "a whole number of at least 16").optional(),
      disk: amount,
      tmp: amount,
    },
    "an object",
  )
  .transform(({ cpus, disk, memory, pids, tmp }) => {
    const named = { cpus, pids, memoryBytes: memory, diskBytes: disk, tmpBytes: tmp };
    const given = Object.entries(named).filter(([, value]) => value !== undefined);
    return Object.fromEntries(given) as { [Name in keyof typeof named]?: number };
  });

/** The keys of hosts that sandboxes reach. */
export const hosts = {
  allowHost: z.array(z.string("a host"), "a list of hosts").optional(),
  allowPreset: z
    .array(z.enum(PRESET_NAMES, `one of ${PRESET_NAMES.join(", ")}`), `a list of ${PRESET_NAMES.join(", ")}`)
    .optional(),
};

/** The keys of a sandbox's network. */
export const egress = {
  egress: z.enum(EGRESS_MODES, `one of ${EGRESS_MODES.join(", ")}`).optional(),
  ...hosts,
};

/** The keys that only restrict. */
export const restrictions = {
  ...egress,
  workspace: z.enum(WORKSPACE_MODES, '"ro", "copy" or "rw"').optional(),
  limits: limits.optional(),
  timeout: z.string('a duration such as "90s" or "10m"').optional(),
};

const count = z.int("a whole number of at least 0").min(0, "a whole number of at least 0").optional();
const quantity = z.number("a number of at least 0").min(0, "a number of at least 0").optional();

const budgetLimits = z
  .strictObject(
    {
      turns: count,
      minutes: quantity,
      tokens: count,
      credits: quantity,
      cost: z
        .string('an amount with its currency such as "5 USD"')
        .regex(COST_FORM, 'an amount with its currency such as "5 USD"')
        .optional(),
    },
    "an object",
  )
  .optional();

/** The schema of a budget. */
export const budget = z
  .strictObject(
    {
      turn: budgetLimits.describe("the most of one call, with all that agents call in it"),
      session: budgetLimits.describe("the most of one session"),
      day: budgetLimits.describe("the most of one day, from midnight to midnight here"),
    },
    "an object",
  )
  .optional();

/** The schema of a list of names of variables. */
export const variables = z.array(
  z.string("the name of a variable").regex(/^[A-Za-z_]\w*$/, "the name of a variable"),
  "a list of names of variables",
);

const EXPECTED_ENV = 'a list of names of variables, or an object such as {"NAME": "text", "OTHER": "$VARIABLE"}';

/** The schema of variables for agents: names of budgie's own, or a text or a name by name. */
export const env = z
  .union(
    [
      variables.transform((names) => Object.fromEntries(names.map((name) => [name, `$${name}`]))),
      z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()),
    ],
    { error: ({ code }) => (code === "invalid_union" ? EXPECTED_ENV : undefined) },
  )
  .optional();

/** The schema of an image's name. */
export const image = z.string("an image").min(1, "an image").optional();
