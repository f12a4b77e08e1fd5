import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ensureMountedFile, type Runner } from "@budgie/core";
import { inspectKiro } from "./inspect-kiro.ts";
import { ENGINES, type HarnessFlags } from "./parse-kiro-help.ts";

/** The harness flags of the commands of `kiro-cli`, by its help. */
export type KiroFlags = {
  readonly chat: HarnessFlags;
  readonly acp: HarnessFlags;
  /** True if V3 is unpacked in its image, where no agent can replace it */
  readonly hasRuntime: boolean;
};

/** Resolves to the flags; to `undefined` if help cannot be had. Never rejects. */
export type FindKiroFlags = () => Promise<KiroFlags | undefined>;

export type KiroFlagsOptions = {
  readonly runner: Pick<Runner, "imageId" | "print">;
  /** The program's name, or its path */
  readonly binary: string;
  readonly stateDir: string;
};

// A program that was missing may have been installed meanwhile.
const RETRY_MS = 60_000;

/** Creates the search for the flags. It asks the program once; for an image, once for all budgies that share a state directory. */
export function createFindKiroFlags(options: KiroFlagsOptions): FindKiroFlags {
  let last: { readonly flags: Promise<KiroFlags | undefined>; readonly until: () => number } | undefined;

  function find(): Promise<KiroFlags | undefined> {
    let until = Number.POSITIVE_INFINITY;
    const flags = load(options);
    void flags.then((found) => found === undefined && (until = performance.now() + RETRY_MS));
    last = { flags, until: () => until };
    return flags;
  }

  return () => (last !== undefined && performance.now() < last.until() ? last.flags : find());
}

async function load(options: KiroFlagsOptions): Promise<KiroFlags | undefined> {
  const file = fileOf(options);
  const known = file && readKnown(file);
  if (known !== undefined) return known;
  const flags = await ask(options);
  if (file !== undefined && flags !== undefined) save(file, flags);
  return flags;
}

type File = { readonly folder: string; readonly name: string };

/** Returns the file with an image's flags; `undefined` without an image, since a program of the host may change at any time. */
function fileOf({ binary, runner: { imageId }, stateDir }: KiroFlagsOptions): File | undefined {
  if (imageId === undefined) return undefined;
  const key = createHash("sha256").update(`${imageId} ${binary}`).digest("hex").slice(0, 32);
  return { folder: join(stateDir, "kiro-flags"), name: `${key}.json` };
}

const harnessFlags = z.strictObject({ hasV2: z.boolean(), engines: z.array(z.enum(ENGINES)).optional() });
const kiroFlags = z.strictObject({ chat: harnessFlags, acp: harnessFlags, hasRuntime: z.boolean() });

function readKnown({ folder, name }: File): KiroFlags | undefined {
  try {
    const { acp, chat, hasRuntime } = kiroFlags.parse(JSON.parse(readFileSync(join(folder, name), "utf8")));
    return { chat: { engines: undefined, ...chat }, acp: { engines: undefined, ...acp }, hasRuntime };
  } catch {
    return undefined;
  }
}

/** Saves what was parsed, and never the text: an image wrote that. */
function save({ folder, name }: File, flags: KiroFlags): void {
  try {
    ensureMountedFile(folder, name, JSON.stringify(flags));
  } catch {
    // The next budgie asks again.
  }
}

async function ask({ binary, runner }: KiroFlagsOptions): Promise<KiroFlags | undefined> {
  try {
    const facts = await inspectKiro(runner.print, binary);
    return facts && { chat: facts.chat, acp: facts.acp, hasRuntime: facts.runtimeProblem === undefined };
  } catch {
    return undefined;
  }
}

/** Finds the flags for a turn; `undefined` also if the turn is cancelled meanwhile, which its start reports. */
export async function findFlagsFor(
  find: FindKiroFlags | undefined,
  { signal }: { readonly signal: AbortSignal | undefined },
): Promise<KiroFlags | undefined> {
  if (find === undefined || signal?.aborted === true) return undefined;
  const over = new AbortController();
  const cancelled = signal && once(signal, "abort", { signal: over.signal }).then(NOTHING, NOTHING);
  return Promise.race([find(), ...(cancelled === undefined ? [] : [cancelled])]).finally(() => over.abort());
}

const NOTHING = (): undefined => undefined;
