import { createOwner } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { inspectKiro, listHarnesses, type KiroFacts } from "@budgie/protocols/kiro";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import { findOnPath } from "../../process/find-on-path.ts";
import type { Host } from "@budgie/mcp-server";
import { formatBuildTodo } from "../../agents/build-todo.ts";
import type { Finding } from "../findings/finding.ts";

/** The Kiros that may run agents, in the image and on this machine; `undefined` where there is none, or it says nothing. */
export type Kiros = { readonly inImage: KiroFacts | undefined; readonly here: KiroFacts | undefined };

/** Asks the image's and this machine's Kiro for their facts. */
export async function askKiros(
  { print, program }: Pick<SandboxFacts, "print" | "program">,
  config: Config,
  host: Host,
): Promise<Kiros> {
  const ofImage = print === undefined || !program.ok ? undefined : inspectKiro(print, program.facts.path);
  const [inImage, here] = await Promise.all([ofImage?.catch(() => undefined), askHere(config, host)]);
  return { inImage, here };
}

async function askHere(config: Config, { env: hostEnv }: Host): Promise<KiroFacts | undefined> {
  const { env, kiroBinary, sandbox, sessionsDir, stateDir } = config;
  // With a sandbox, a path is one of the image's.
  const program = findOnPath(sandbox && kiroBinary.includes("/") ? "kiro-cli" : kiroBinary, hostEnv["PATH"]);
  if (program === undefined) return undefined;
  const { createLocalRunner } = await import("@budgie/runner-local");
  const runner = createLocalRunner({
    sessionsDir,
    stateDir,
    owner: createOwner({ stateDir }),
    hostEnv,
    env: Object.keys(env),
  });
  try {
    return await inspectKiro((argv) => runner.print(argv), program);
  } catch {
    return undefined;
  } finally {
    await runner.close();
  }
}

type Wanted = Pick<Config, "kiroHarness" | "sandbox" | "sandboxImage">;

/** Returns the findings about the versions and harnesses of Kiro. */
export function judgeKiros({ here, inImage }: Kiros, wanted: Wanted): readonly Finding[] {
  const places = [
    ...(inImage === undefined ? [] : [formatKiro(inImage, "in the image")]),
    ...(here === undefined ? [] : [formatKiro(here, "here")]),
  ];
  if (places.length === 0) return [];
  const text = places.join(", ");
  const isOld = inImage !== undefined && here !== undefined && isOlder(inImage.version, here.version);
  return [
    isOld ? makeFinding("note", `${text}: a new build would update the image`) : makeFinding("ok", text),
    ...inspectV3(inImage, wanted),
  ];
}

function formatKiro(facts: KiroFacts, place: string): string {
  return `${facts.version ?? "an unknown version"} ${place} (${listHarnesses(facts).join(", ")})`;
}

/** Returns true if a version is older than another; false if one of them is unknown. */
function isOlder(version: string | undefined, other: string | undefined): boolean {
  if (version === undefined || other === undefined) return false;
  return version.localeCompare(other, "en", { numeric: true }) < 0;
}

function inspectV3(inImage: KiroFacts | undefined, { kiroHarness, sandbox, sandboxImage }: Wanted): readonly Finding[] {
  const problem = inImage && findV3Problem(inImage);
  const isWanted = kiroHarness === "v3" && sandbox;
  // A user without V3 is not told that an older Kiro has none.
  if (problem === undefined || (!isWanted && !hasV3(inImage))) return [];
  const text = `V3 does not run in the image: ${escapeForTerminal(problem)}`;
  if (!isWanted) return [makeFinding("note", text)];
  return [{ ...makeFinding("failed", text), todo: formatBuildTodo({ image: sandboxImage, isThere: true }) }];
}

function findV3Problem(inImage: KiroFacts): string | undefined {
  return hasV3(inImage) ? inImage.runtimeProblem : "its kiro-cli lists no such harness in its help";
}

function hasV3(facts: KiroFacts | undefined): boolean {
  return facts !== undefined && listHarnesses(facts).includes("V3");
}

function makeFinding(state: Finding["state"], text: string): Finding {
  return { state, what: "kiro", text };
}
