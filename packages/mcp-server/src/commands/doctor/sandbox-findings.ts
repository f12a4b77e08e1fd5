import { toDurationText } from "@budgie/core";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import type { Finding } from "./finding.ts";
import type { Host } from "../../process/host.ts";
import { withFlags } from "../../terminal/with-flags.ts";
import { toSandboxSecrets } from "../../config/sandbox-options.ts";

/** Returns the findings about the engine, the image, the program and the login. */
export function toSandboxFindings(
  { engine, image, login, notices, program, runtime }: SandboxFacts,
  { acceptWeaker, credentials, kiroDataDir }: Config,
  { env }: Host,
): readonly Finding[] {
  return [
    toFinding("engine", engine, ({ apiVersion, endpoint, name, version }) => {
      return `${name} ${version}, API ${apiVersion}, at ${endpoint}`;
    }),
    ...(engine.ok ? engine.facts.protections.map((protection) => toProtectionFinding(protection, acceptWeaker)) : []),
    toFinding("image", image, ({ created, id, name }) => `${name} (${id.slice(0, 19)}), built ${toAge(created)} ago`),
    ...(engine.ok && image.ok ? inspectPlatform(image.facts, engine.facts) : []),
    toFinding("program", program, ({ path }) => `"${path}" in the image, and a /bin/sh to start it`),
    ...(runtime === undefined ? [] : [toFinding("runtime", runtime, ({ name }) => `the engine has "${name}"`)]),
    toFinding("login", login, (facts) => toLoginText(facts, kiroDataDir)),
    toSecretsFinding(Object.keys(toSandboxSecrets(credentials, env))),
    ...notices.map((text): Finding => ({ state: "note", what: "caller", text })),
  ];
}

type EngineFacts = Extract<SandboxFacts["engine"], { readonly ok: true }>["facts"];
type Protection = EngineFacts["protections"][number];

const STATES = { held: "ok", weak: "note" } as const;

function toProtectionFinding(protection: Protection, accepted: Config["acceptWeaker"]): Finding {
  const { name: what, text } = protection;
  if (protection.state !== "missing") return { state: STATES[protection.state], what, text };
  const told = `${text} Claims that do not hold: ${protection.breaks.join(", ")}.`;
  if (accepted.includes(protection.name)) return { state: "note", what, text: `${told} You accepted that.` };
  return { state: "failed", what, text: `${told} Without --accept-weaker ${what}, budgie --sandbox does not start.` };
}

function inspectPlatform(image: { readonly platform: string }, engine: EngineFacts): readonly Finding[] {
  if (image.platform === engine.platform) return [];
  const text = `it is for ${image.platform} and the engine for ${engine.platform}: that takes an emulator, and may not run at all`;
  return [{ state: "note", what: "image", text }];
}

type LoginFacts = Extract<SandboxFacts["login"], { readonly ok: true }>["facts"];

function toLoginText(login: LoginFacts, kiroDataDir: string): string {
  switch (login.from) {
    case "api-key":
      return "by KIRO_API_KEY";
    case "nothing":
      return "none is handed to a sandbox";
    case "database": {
      const left = login.expires === undefined ? "" : `; its access token alone, until ${login.expires.toISOString()}`;
      return `in "${kiroDataDir}", written ${toAge(login.updated)} ago${left}`;
    }
  }
}

function toSecretsFinding(names: readonly string[]): Finding {
  if (names.length === 0) return { state: "ok", what: "secrets", text: "none in a sandbox's variables" };
  const text = `${names.join(", ")} among a sandbox's variables: who reaches the engine can read them during a turn`;
  return { state: "note", what: "secrets", text };
}

function toFinding<Facts>(
  what: string,
  part: { readonly ok: true; readonly facts: Facts } | { readonly ok: false; readonly problem: string },
  toText: (facts: Facts) => string,
): Finding {
  return part.ok
    ? { state: "ok", what, text: toText(part.facts) }
    : { state: "failed", what, text: withFlags(part.problem) };
}

function toAge(date: Date): string {
  const hours = (Date.now() - date.getTime()) / 3_600_000;
  return hours >= 48 ? `${Math.floor(hours / 24)} days` : toDurationText(Math.max(0, hours * 3_600_000));
}
