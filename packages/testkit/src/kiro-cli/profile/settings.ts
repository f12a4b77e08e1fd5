import { toExitError } from "./exit-error.ts";

/**
 * The imitated version of Kiro. `q1`: the first engine, as Q 1.19 and Kiro 1.x. `v2`: the second engine, before its help listed harnesses.
 * `v2json`: the same with `--output-format`. `v2late`: 2.37, which has both harnesses. `v3`: 3.x.
 */
export type Profile = "q1" | "v2" | "v2json" | "v2late" | "v3";

/** The program inside Kiro that runs agents. Versions before `v2late` have only the first. */
export type Harness = "v2" | "v3";

/** The settings that tests make with `FAKE_KIRO_*` variables. */
export type Settings = {
  readonly profile: Profile;
  /** Chosen by the command line */
  readonly harness: Harness;
  /** `NAME` or `NAME AMOUNT`, as in a `[[fault …]]` directive */
  readonly fault: string | undefined;
  /** Exits with code 4 for an unknown agent; `undefined` leaves that to the version */
  readonly strictAgent: boolean | undefined;
  readonly models: readonly string[];
  readonly wal: boolean;
  /** File to which each call is appended as a line of JSON */
  readonly logFile: string | undefined;
  /** Pause after each line of an answer */
  readonly chunkDelayMs: number;
};

/** The version number of each profile. */
export const VERSIONS: Readonly<Record<Profile, string>> = {
  q1: "1.22.0",
  v2: "2.12.0",
  v2json: "2.24.0",
  v2late: "2.37.0",
  v3: "3.2.0",
};

const MODELS = ["auto", "claude-sonnet-4.5", "claude-sonnet-4", "claude-opus-4", "claude-haiku-4.5"];

/** Reads the `FAKE_KIRO_*` variables. */
export function loadSettings(env: NodeJS.ProcessEnv): Settings {
  const more = env["FAKE_KIRO_MODELS"]?.split(",").filter((model) => model !== "") ?? [];
  const strict = env["FAKE_KIRO_STRICT_AGENT"];
  return {
    profile: parseProfile(env["FAKE_KIRO_PROFILE"] ?? "v2"),
    harness: "v2",
    fault: env["FAKE_KIRO_FAULT"],
    strictAgent: strict === undefined ? undefined : strict === "1",
    models: [...MODELS, ...more],
    wal: env["FAKE_KIRO_WAL"] === "1",
    logFile: env["FAKE_KIRO_LOG"],
    chunkDelayMs: Number(env["FAKE_KIRO_CHUNK_MS"] ?? 0),
  };
}

function parseProfile(text: string): Profile {
  const profiles = Object.keys(VERSIONS) as readonly Profile[];
  const profile = profiles.find((each) => each === text);
  if (profile !== undefined) return profile;
  throw toExitError(2, `FAKE_KIRO_PROFILE must be one of ${profiles.join(", ")}, not "${text}".`);
}
