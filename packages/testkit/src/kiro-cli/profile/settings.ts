import { toExitError } from "./exit-error.ts";

/**
 * The imitated version of Kiro. `q1`: the first engine, as Q 1.19 and Kiro 1.x. `v2text`: the second engine before it had
 * `--output-format`. `v2json`: the second engine with it.
 */
export type Profile = "q1" | "v2text" | "v2json";

/** The settings that tests make with `FAKE_KIRO_*` variables. */
export type Settings = {
  readonly profile: Profile;
  /** `NAME` or `NAME AMOUNT`, as in a `[[fault …]]` directive */
  readonly fault: string | undefined;
  /** Exits with code 4 for an unknown agent, like the newest versions */
  readonly strictAgent: boolean;
  readonly models: readonly string[];
  readonly wal: boolean;
  /** File to which each call is appended as a line of JSON */
  readonly logFile: string | undefined;
  /** Pause after each line of an answer */
  readonly chunkDelayMs: number;
};

/** The version number of each profile. */
export const VERSIONS: Readonly<Record<Profile, string>> = { q1: "1.22.0", v2text: "2.12.0", v2json: "2.24.0" };

const MODELS = ["auto", "claude-sonnet-4.5", "claude-sonnet-4", "claude-opus-4", "claude-haiku-4.5"];

/** Reads the `FAKE_KIRO_*` variables. */
export function loadSettings(env: NodeJS.ProcessEnv): Settings {
  const more = env["FAKE_KIRO_MODELS"]?.split(",").filter((model) => model !== "") ?? [];
  return {
    profile: parseProfile(env["FAKE_KIRO_PROFILE"] ?? "v2text"),
    fault: env["FAKE_KIRO_FAULT"],
    strictAgent: env["FAKE_KIRO_STRICT_AGENT"] === "1",
    models: [...MODELS, ...more],
    wal: env["FAKE_KIRO_WAL"] === "1",
    logFile: env["FAKE_KIRO_LOG"],
    chunkDelayMs: Number(env["FAKE_KIRO_CHUNK_MS"] ?? 0),
  };
}

function parseProfile(text: string): Profile {
  if (text === "q1" || text === "v2text" || text === "v2json") return text;
  throw toExitError(2, `FAKE_KIRO_PROFILE must be q1, v2text or v2json, not "${text}".`);
}
