import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { BudgieError, EGRESS_MODES, parseTimeout, type EgressMode, type Tightening } from "@budgie/core";
import { PRESET_NAMES, type HostWishes } from "./egress-list.ts";
import { toAbsolutePath } from "./host-paths.ts";

const path = z.string("a path").min(1, "a path");
const AMOUNT = /^(\d+)([kmg])$/i;
const UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

const amount = z
  .string('an amount such as "512m" or "2g"')
  .regex(AMOUNT, 'an amount such as "512m" or "2g"')
  .transform(toBytes)
  .refine((bytes) => bytes >= 16 * 2 ** 20, 'at least "16m"')
  .optional();

// Engines refuse smaller values, or no agent can start with them.
const limits = z.strictObject({
  memory: amount,
  cpus: z.number("a number of at least 0.01").min(0.01, "a number of at least 0.01").optional(),
  pids: z.int("a whole number of at least 16").min(16, "a whole number of at least 16").optional(),
  disk: amount,
});

const egress = {
  egress: z.enum(EGRESS_MODES, `one of ${EGRESS_MODES.join(", ")}`).optional(),
  allowHost: z.array(z.string("a host"), "a list of hosts").optional(),
  allowPreset: z
    .array(z.enum(PRESET_NAMES, `one of ${PRESET_NAMES.join(", ")}`), `a list of ${PRESET_NAMES.join(", ")}`)
    .optional(),
};

const agentSection = z.strictObject(
  {
    ...egress,
    workspace: z.enum(["ro", "rw"], '"ro" or "rw"').optional(),
    limits: limits.optional(),
    timeout: z.string('a duration such as "90s" or "10m"').optional(),
    maxConcurrent: z.int("a whole number of at least 1").min(1, "a whole number of at least 1").optional(),
  },
  "an object",
);

const configFileSchema = z.strictObject(
  {
    ...egress,
    allowRoot: z.array(path, "a list of paths").min(1, "a list of at least one path").optional(),
    agents: z.record(z.string(), agentSection, "an object").default({}),
  },
  "an object",
);

/** The content of a `budgie.json`. */
export type ConfigFile = EgressWishes & {
  readonly allowRoot: readonly string[];
  /** By agent */
  readonly agents: ReadonlyMap<string, AgentSection>;
  /** The limits on concurrent turns, by agent; only agents whose sections set one */
  readonly maxConcurrent: ReadonlyMap<string, number>;
};

/** The egress settings of one source; `undefined` where it sets none */
export type EgressWishes = { readonly egress?: EgressMode | undefined } & {
  readonly [Key in keyof HostWishes]?: HostWishes[Key] | undefined;
};

/** An agent's section. Its hosts are not parsed yet. */
export type AgentSection = Omit<Tightening, "allowedHosts"> & EgressWishes;

/** Loads a `budgie.json`; without a file the result is empty. Throws `CONFIG_INVALID` naming the file and the fault. */
export function loadConfigFile(file: string | undefined, home: string): ConfigFile {
  if (file === undefined) return { allowRoot: [], agents: new Map(), maxConcurrent: new Map() };
  const content = readJson(file);
  const parsed = configFileSchema.safeParse(content);
  if (!parsed.success) throw toFileError(file, parsed.error.issues[0]);
  const { agents, allowRoot = [], ...wishes } = parsed.data;
  const maxConcurrent = Object.entries(agents).flatMap(([name, section]): readonly [string, number][] =>
    section.maxConcurrent === undefined ? [] : [[name, section.maxConcurrent]],
  );
  const sections = Object.entries(agents).map(([name, section]): [string, AgentSection] => [
    name,
    toAgentSection(section, `"agents.${name}.timeout" in "${file}"`),
  ]);
  // Paths in the file are relative to the file.
  const place = { cwd: dirname(file), home };
  return {
    ...wishes,
    allowRoot: allowRoot.map((root) => toAbsolutePath(root, place)),
    agents: new Map(sections),
    maxConcurrent: new Map(maxConcurrent),
  };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code ?? message.replace(/\s+/g, " ");
    throw new BudgieError(
      "CONFIG_INVALID",
      `Cannot read the file "${file}" of --config: ${why}. Correct it, or leave the option out.`,
      { cause },
    );
  }
}

function toAgentSection(section: z.infer<typeof agentSection>, option: string): AgentSection {
  const { limits: { cpus, disk, memory, pids } = {}, maxConcurrent: _, timeout, ...rest } = section;
  return {
    ...rest,
    limits: { cpus, pids, memoryBytes: memory, diskBytes: disk },
    timeoutMs: timeout === undefined ? undefined : parseTimeout(timeout, option),
  };
}

function toBytes(text: string): number {
  const [, number, unit = ""] = AMOUNT.exec(text) ?? [];
  return Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
}

function toFileError(file: string, issue: z.core.$ZodIssue | undefined): BudgieError {
  const place = issue === undefined || issue.path.length === 0 ? "its content" : `"${issue.path.join(".")}"`;
  const message =
    issue?.code === "unrecognized_keys"
      ? `The file "${file}" has a key that is unknown in ${place}: "${issue.keys.join('", "')}". Remove it, or correct its name.`
      : `Expected ${place} in "${file}" to be ${issue?.message}.`;
  return new BudgieError("CONFIG_INVALID", message);
}
