import { z } from "zod";

/** The request that switches an option off, without its session. */
export type SwitchOff = { readonly configId: string } & (
  | { readonly type: "boolean"; readonly value: false }
  | { readonly value: string }
);

const ID = "autopilot";
const MOST_OPTIONS = 1000;
const OFF = /^(?:off|false|no|disabled)$/i;

const option = z.union([
  z.object({ id: z.literal(ID), currentValue: z.boolean() }),
  z.object({ id: z.literal(ID), currentValue: z.string(), options: z.unknown().optional() }),
]);

/** Returns the request that switches autopilot off, in which V3 asks nobody before it uses a tool; `undefined` if it cannot be. */
export function findSwitchOff(options: unknown): SwitchOff | undefined {
  const found = find(options);
  if (found === undefined) return undefined;
  if (typeof found.currentValue === "boolean") return { configId: ID, type: "boolean", value: false };
  const value = listValues("options" in found ? found.options : undefined).find((each) => OFF.test(each));
  return value === undefined ? undefined : { configId: ID, value };
}

/** Returns true if autopilot is off by these options. */
export function isSwitchedOff(options: unknown): boolean {
  const value = find(options)?.currentValue;
  return value === false || (typeof value === "string" && OFF.test(value));
}

function find(options: unknown): z.infer<typeof option> | undefined {
  return toList(options).flatMap((each) => option.safeParse(each).data ?? [])[0];
}

function listValues(options: unknown): readonly string[] {
  return toList(options).flatMap((each) => z.object({ value: z.string().max(100) }).safeParse(each).data?.value ?? []);
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, MOST_OPTIONS) : [];
}
