import { formatDuration } from "@budgie/core/text";
import { usesCopy } from "@budgie/core/policy";
import type { LoginFacts, SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import { formatBuildTodo } from "../../agents/build-todo.ts";
import { findEngineTodo } from "./find-engine-todo.ts";
import type { Finding } from "../findings/finding.ts";
import { findOnPath } from "../../process/find-on-path.ts";
import { pickSandboxSecrets, type Host } from "@budgie/mcp-server";

/** Returns the findings about the engine, the image, the program and the login. */
export function listSandboxFindings(
  { engine, image, login, notices, program, runtime }: SandboxFacts,
  config: Config,
  host: Host,
): readonly Finding[] {
  const { acceptWeaker, credentials, kiroDataDir, sandboxImage } = config;
  const { env } = host;
  // The original's image can only be replaced.
  const isOwn = image.ok && !image.facts.isLikeOriginals;
  const build = formatBuildTodo({ image: sandboxImage, isThere: isOwn });
  // Each lack has one line: without an engine nothing else was checked, and without an image no program.
  const ofImage = [
    withTodo(makeFinding("image", image, formatImage), build),
    ...(engine.ok && image.ok ? inspectPlatform(image.facts, engine.facts) : []),
    ...(image.ok ? [withTodo(makeFinding("program", program, formatProgram), build)] : []),
    ...(runtime === undefined ? [] : [makeFinding("runtime", runtime, ({ name }) => `the engine has "${name}"`)]),
  ];
  return [
    withTodo(makeFinding("engine", engine, formatEngine), engine.ok ? undefined : findEngineTodo(engine.silent, host)),
    ...(engine.ok ? engine.facts.protections.map((protection) => inspectProtection(protection, acceptWeaker)) : []),
    ...inspectCopies(engine, config),
    ...(engine.ok ? ofImage : [UNASKED]),
    ...(login === undefined ? [] : [inspectLogin(login, kiroDataDir, env["PATH"])]),
    inspectSecrets(Object.keys(pickSandboxSecrets(credentials, env))),
    ...notices.map((text): Finding => ({ state: "note", what: "caller", text })),
  ];
}

const UNASKED: Finding = { state: "note", what: "image", text: "not looked at, since there is no engine to ask" };

type Login = NonNullable<SandboxFacts["login"]>;

/** Tells of the login that a sandbox would get. */
export function inspectLogin(login: Login, kiroDataDir: string, path: string | undefined): Finding {
  const command = login.ok ? undefined : /"(kiro-cli \w+)"/.exec(login.problem)?.[1];
  const isThere = (program: string): boolean => findOnPath(program, path) !== undefined;
  // A bare distribution has neither.
  const needs = ["curl", "unzip"].every(isThere) ? "" : "    # needs curl and unzip: install them first";
  return withTodo(
    makeFinding("login", login, (facts) => formatLogin(facts, kiroDataDir)),
    command === undefined || isThere("kiro-cli") ? command : `${INSTALL} && ${command}${needs}`,
  );
}

const INSTALL = "curl -fsSL https://cli.kiro.dev/install | bash";

type EngineFacts = Extract<SandboxFacts["engine"], { readonly ok: true }>["facts"];
type ImageFacts = Extract<SandboxFacts["image"], { readonly ok: true }>["facts"];

function formatEngine({ apiVersion, endpoint, name, version }: EngineFacts): string {
  return `${name} ${version}, API ${apiVersion}, at ${endpoint}`;
}

function formatImage({ created, id, name }: ImageFacts): string {
  return `${name} (${id.slice(0, 19)}), built ${formatAge(created)} ago`;
}

function formatProgram({ path }: { readonly path: string }): string {
  return `"${path}" in the image, and a /bin/sh to start it`;
}

/** Returns the finding, with the command that removes the cause if it failed. */
function withTodo(finding: Finding, todo: string | undefined): Finding {
  return finding.state === "failed" && todo !== undefined ? { ...finding, todo } : finding;
}

type Protection = EngineFacts["protections"][number];

const STATES = { held: "ok", weak: "note" } as const;

function inspectProtection(protection: Protection, accepted: Config["acceptWeaker"]): Finding {
  const { name: what, text } = protection;
  if (protection.state !== "missing") return { state: STATES[protection.state], what, text };
  const told = `${text} Claims that do not hold: ${protection.breaks.join(", ")}.`;
  if (accepted.includes(protection.name)) return { state: "note", what, text: `${told} You accepted that.` };
  return { state: "failed", what, text: `${told} Without --accept-weaker ${what}, budgie --sandbox does not start.` };
}

/** Says whether copies may go to an engine elsewhere, if agents work on copies. */
function inspectCopies(
  engine: SandboxFacts["engine"],
  { allowRemoteCopy, config, policies }: Config,
): readonly Finding[] {
  if (!engine.ok) return [];
  const { endpoint } = engine.facts;
  if (endpoint.startsWith("unix:") || !usesCopy(policies.ceiling.workspace)) return [];
  const text = `agents work on copies, which go to ${endpoint}`;
  if (allowRemoteCopy) return [{ state: "note", what: "copies", text: `${text}. You allowed that.` }];
  const file = config === undefined ? "the configuration file" : `"${config}"`;
  return [
    {
      state: "failed",
      what: "copies",
      text: `${text}, and nothing says that its machine may have your files. Each call fails until "allowRemoteCopy" is set.`,
      todo: `"allowRemoteCopy": true            # in ${file}`,
    },
  ];
}

function inspectPlatform(image: { readonly platform: string }, engine: EngineFacts): readonly Finding[] {
  if (image.platform === engine.platform) return [];
  const text = `it is for ${image.platform} and the engine for ${engine.platform}: that takes an emulator, and may not run at all`;
  return [{ state: "note", what: "image", text }];
}

function formatLogin(login: LoginFacts, kiroDataDir: string): string {
  switch (login.from) {
    case "variable":
      return "by KIRO_API_KEY";
    case "nothing":
      return "none is handed to a sandbox";
    case "file": {
      const left = login.expires === undefined ? "" : `; its access token alone, until ${login.expires.toISOString()}`;
      return `in "${kiroDataDir}", written ${formatAge(login.updated)} ago${left}`;
    }
  }
}

function inspectSecrets(names: readonly string[]): Finding {
  if (names.length === 0) return { state: "ok", what: "secrets", text: "none in a sandbox's variables" };
  const text = `${names.join(", ")} among a sandbox's variables: who reaches the engine can read them during a turn`;
  return { state: "note", what: "secrets", text };
}

function makeFinding<Facts>(
  what: string,
  part: { readonly ok: true; readonly facts: Facts } | { readonly ok: false; readonly problem: string },
  toText: (facts: Facts) => string,
): Finding {
  return part.ok ? { state: "ok", what, text: toText(part.facts) } : { state: "failed", what, text: part.problem };
}

function formatAge(date: Date): string {
  const hours = (Date.now() - date.getTime()) / 3_600_000;
  return hours >= 48 ? `${Math.floor(hours / 24)} days` : formatDuration(Math.max(0, hours * 3_600_000));
}
