import { BudgieError, type Runner } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Login, LoginFacts } from "@budgie/sandbox/login";
import type { VolumeMount } from "@budgie/sandbox/mounts";
import { type Caller, chooseSandboxUser, listUserNotices } from "@budgie/sandbox/profile";
import { checkRuntime } from "../engine/check-runtime.ts";
import type { EngineProtection } from "../engine/engine-protection.ts";
import { connectEngine, type Engine } from "../engine/engine.ts";
import type { HostEnvironment, SilentEndpoint } from "../engine/find-endpoints.ts";
import { addPrograms, createFindPrograms } from "../image/find-programs.ts";
import { findImage, type SandboxImage } from "../image/find-image.ts";
import { findAgentProgram } from "../image/find-agent-program.ts";
import { printInImage } from "../image/print-in-image.ts";

export type InspectOptions = {
  readonly image: string;
  /** The image whose programs are shown beside the files of one that lacks them; default none */
  readonly programsOf?: string | undefined;
  /** The agents' program in the image: a name, or an absolute path */
  readonly program: string;
  readonly owner: OwnerRecord;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** The runner's option */
  readonly login?: Login | undefined;
  readonly runtime?: string | undefined;
};

/** The facts about the sandbox for `budgie doctor`; a missing part has its problem instead. */
export type SandboxFacts = {
  readonly engine: Part<{
    readonly name: string;
    readonly version: string;
    readonly apiVersion: string;
    readonly endpoint: string;
    readonly platform: string;
    readonly protections: readonly EngineProtection[];
  }>;
  readonly image: Part<SandboxImage>;
  readonly program: Part<{ readonly path: string }>;
  /** Runs a program of the image that only prints, as a runner does; `undefined` if the image cannot run the agents' program */
  readonly print: Runner["print"] | undefined;
  /** `undefined` if none was requested */
  readonly runtime: Part<{ readonly name: string }> | undefined;
  /** The part of the login that a sandbox would get; `undefined` if none was given */
  readonly login: Part<LoginFacts> | undefined;
  readonly notices: readonly string[];
};

type Part<Facts> = { readonly ok: true; readonly facts: Facts } | Lack;

type Lack = {
  readonly ok: false;
  readonly problem: string;
  /** The endpoints at which no engine answered; left out for any other problem */
  readonly silent?: readonly SilentEndpoint[] | undefined;
};

/**
 * Inspects everything that a sandboxed turn needs: it only creates a container that never starts, to inspect the image's files, and
 * removes it. Only `print` of the facts runs a program, and `programsOf` may fill the volume with the agents' programs.
 */
export async function inspectSandbox(options: InspectOptions): Promise<SandboxFacts> {
  const engine = await attempt(() => connectEngine(options.hostEnv, options.home));
  const caller = { uid: process.getuid?.(), gid: process.getgid?.() };
  const [{ image, print, program }, login, runtime] = await Promise.all([
    inspectImage(engine, caller, options),
    inspectLogin(options),
    inspectRuntime(engine, options.runtime),
  ]);
  return {
    engine: engine.ok ? { ok: true, facts: toEngineFacts(engine.facts) } : engine,
    image,
    program,
    print: runtime?.ok === false ? undefined : print,
    runtime,
    login,
    notices: listUserNotices(caller, engine.ok ? engine.facts.users : "same"),
  };
}

function toEngineFacts({ apiVersion, endpoint, name, platform, version, protections }: Engine) {
  return { name, version, apiVersion, platform, endpoint: endpoint.url, protections };
}

const UNASKED = { ok: false, problem: "there is no engine to ask" } as const;

async function inspectImage(
  engine: Part<Engine>,
  caller: Caller,
  { image: name, owner, program, programsOf, runtime, stateDir }: InspectOptions,
): Promise<Pick<SandboxFacts, "image" | "print" | "program">> {
  if (!engine.ok) return { image: UNASKED, program: UNASKED, print: undefined };
  const { facts } = engine;
  const image = await attempt(() => findImage(facts, name));
  if (!image.ok) return { image, program: { ok: false, problem: "there is no image to look into" }, print: undefined };
  const place = { image: image.facts, owner, user: chooseSandboxUser(caller, facts.users) };
  const beside = await attempt(() => findBeside(facts, image.facts, { programsOf, owner, stateDir, runtime }));
  if (!beside.ok) return { image, program: beside, print: undefined };
  const [mounts, path] =
    beside.facts === undefined ? [[], image.facts.path] : [[beside.facts], addPrograms(image.facts.path)];
  const found = await attempt(async () => ({
    path: await findAgentProgram(facts, { ...place, program, mounts, path }),
  }));
  const print: Runner["print"] = (command) =>
    printInImage(facts, { ...place, command, stateDir, runtime, mounts, path });
  return { image, program: found, print: found.ok ? print : undefined };
}

type Beside = Pick<InspectOptions, "owner" | "programsOf" | "runtime" | "stateDir">;

/** Finds the programs that sandboxes of an image get beside its own files; `undefined` if it has its own, or there are none. */
async function findBeside(
  engine: Engine,
  image: SandboxImage,
  { programsOf, ...filling }: Beside,
): Promise<VolumeMount | undefined> {
  if (programsOf === undefined || programsOf === image.name || image.hasPrograms) return undefined;
  return createFindPrograms(engine, { ...filling, image: await findImage(engine, programsOf) })(image);
}

async function inspectRuntime(engine: Part<Engine>, name: string | undefined): Promise<SandboxFacts["runtime"]> {
  if (name === undefined) return undefined;
  if (!engine.ok) return UNASKED;
  return attempt(async () => {
    checkRuntime(engine.facts, name);
    return { name };
  });
}

async function inspectLogin({ hostEnv, login }: InspectOptions): Promise<SandboxFacts["login"]> {
  return login && attempt(() => login.inspect(hostEnv));
}

async function attempt<Facts>(look: () => Promise<Facts>): Promise<Part<Facts>> {
  try {
    return { ok: true, facts: await look() };
  } catch (error) {
    if (error instanceof BudgieError) {
      const { cause, message } = error;
      return { ok: false, problem: message, ...(Array.isArray(cause) ? { silent: cause } : {}) };
    }
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
