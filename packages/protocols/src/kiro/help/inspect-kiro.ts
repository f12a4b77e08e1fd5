import type { Command } from "@budgie/core";
import { parseKiroHelp, type HarnessFlags } from "./parse-kiro-help.ts";

/** The facts about one Kiro, as its program and the variables of its machine or image tell them. */
export type KiroFacts = {
  /** Such as `2.37.0`; `undefined` if the program does not say */
  readonly version: string | undefined;
  readonly chat: HarnessFlags;
  readonly acp: HarnessFlags;
  /** The reason why a sandbox of the image must not run V3; `undefined` if there is none */
  readonly runtimeProblem: string | undefined;
};

/** Runs a program that only prints, and resolves to its stdout. */
export type Print = (argv: Command["argv"]) => Promise<string>;

const MARK = "--- budgie: next answer ---";
const NEXT = `printf '\\n%s\\n' '${MARK}'`;
// The folder as it is named, and without links if something is in it
const RUNTIME = `printf '%s\\n' "$KIRO_RUNTIME_DIR"; cd -P "\${KIRO_RUNTIME_DIR:-/none}" && [ -n "$(ls -A)" ] && pwd -P`;
const SCRIPT = `"$0" chat --help && ${NEXT}; "$0" acp --help; ${NEXT}; "$0" --version; ${NEXT}; ${RUNTIME}; ${NEXT}`;

/** Asks a program of Kiro for its version and harnesses. Resolves to `undefined` if there is none that prints its help. */
export async function inspectKiro(print: Print, binary: string): Promise<KiroFacts | undefined> {
  const [chat, acp, version, runtime, end] = (await print(["/bin/sh", "-c", SCRIPT, binary])).split(MARK);
  if (chat === undefined || acp === undefined || runtime === undefined || end === undefined) return undefined;
  return {
    version: /^kiro-cli (\d{1,6}\.\d{1,6}\.\d{1,6})/m.exec(version ?? "")?.[1],
    chat: parseKiroHelp(chat),
    acp: parseKiroHelp(acp),
    runtimeProblem: findRuntimeProblem(runtime),
  };
}

// An agent, or the repository that it works in, fills these places of a sandbox.
const AGENTS = /^\/(?:auth|dev|home|proc|sys|tmp|var\/tmp|workspace)(?:\/|$)/;

/** V3 must find its programs unpacked: otherwise each session's home would get them, where an agent could replace its own harness. */
function findRuntimeProblem(printed: string): string | undefined {
  const [, folder, place] = /^\n(.*)\n(.+)?/.exec(printed) ?? [];
  if (!folder) return "the image names no folder with V3's programs in KIRO_RUNTIME_DIR";
  if (place === undefined) return `the image has nothing in "${folder}", the KIRO_RUNTIME_DIR for V3's programs`;
  const unsafe = [folder, place].find((path) => AGENTS.test(path));
  return unsafe && `the image has V3's programs in "${unsafe}", where agents write`;
}

/** Lists the harnesses that a Kiro offers to budgie. A flag whose values help does not name has both. */
export function listHarnesses({ acp, chat }: Pick<KiroFacts, "acp" | "chat">): readonly ("V2" | "V3")[] {
  const lists = ({ engines }: HarnessFlags, engine: "v2" | "v3"): boolean =>
    engines !== undefined && (engines.length === 0 || engines.includes(engine));
  const hasV2 = chat.hasV2 || chat.engines === undefined || lists(chat, "v2");
  return [...(hasV2 ? (["V2"] as const) : []), ...(lists(acp, "v3") ? (["V3"] as const) : [])];
}
