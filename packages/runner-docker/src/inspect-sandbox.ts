import { stat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { connectEngine, type Engine } from "./engine.ts";
import type { HostEnvironment } from "./find-engine.ts";
import { findImage, type SandboxImage } from "./find-image.ts";
import { DATABASE, loadKiroLogin } from "./kiro-login.ts";
import { toUserNotices } from "./sandbox-user.ts";

export type InspectOptions = {
  readonly image: string;
  readonly kiroDataDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
};

/** What `budgie doctor` tells of the sandbox; a part that is missing says why. */
export type SandboxFacts = {
  readonly engine: Part<{
    readonly name: string;
    readonly version: string;
    readonly apiVersion: string;
    readonly endpoint: string;
  }>;
  readonly image: Part<SandboxImage>;
  readonly login: Part<{ readonly updated: Date }>;
  readonly notices: readonly string[];
};

type Part<Facts> = { readonly ok: true; readonly facts: Facts } | { readonly ok: false; readonly problem: string };

/** Looks at everything that a sandboxed turn needs, and changes nothing. */
export async function inspectSandbox(options: InspectOptions): Promise<SandboxFacts> {
  const engine = await attempt(() => connectEngine(options.hostEnv, options.home));
  const caller = { uid: process.getuid?.(), gid: process.getgid?.() };
  const [image, login] = await Promise.all([inspectImage(engine, options.image), inspectLogin(options)]);
  return {
    engine: engine.ok ? { ok: true, facts: toEngineFacts(engine.facts) } : engine,
    image,
    login,
    notices: toUserNotices(caller, engine.ok ? engine.facts.users : "same"),
  };
}

function toEngineFacts({ apiVersion, endpoint, name, version }: Engine) {
  return { name, version, apiVersion, endpoint: endpoint.url };
}

async function inspectImage(engine: Part<Engine>, name: string): Promise<SandboxFacts["image"]> {
  if (!engine.ok) return { ok: false, problem: "there is no engine to ask" };
  return attempt(() => findImage(engine.facts.docker, name));
}

async function inspectLogin({ hostEnv, kiroDataDir }: InspectOptions): Promise<SandboxFacts["login"]> {
  if (hostEnv["KIRO_API_KEY"]) return { ok: true, facts: { updated: new Date() } };
  const login = await attempt(() => loadKiroLogin(kiroDataDir));
  if (!login.ok) return login;
  if (login.facts === undefined)
    return { ok: false, problem: `there is none in "${kiroDataDir}"; run "kiro-cli login"` };
  return { ok: true, facts: { updated: (await stat(join(kiroDataDir, DATABASE))).mtime } };
}

async function attempt<Facts>(look: () => Promise<Facts>): Promise<Part<Facts>> {
  try {
    return { ok: true, facts: await look() };
  } catch (error) {
    if (error instanceof BudgieError) return { ok: false, problem: error.message };
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
