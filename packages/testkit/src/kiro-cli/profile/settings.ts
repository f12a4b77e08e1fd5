import { toExitError } from "./exit-error.ts";

/** The imitated version of Kiro. `PROFILES` says what it is like. */
export type Profile = keyof typeof PROFILES;

/** The program inside Kiro that runs agents. Only `v2late` and `v3` have both. */
export type Harness = "v2" | "v3";

/** The settings that tests make with `FAKE_KIRO_*` variables. */
export type Settings = {
  readonly profile: Profile;
  readonly traits: Traits;
  /** Chosen by the command line */
  readonly harness: Harness;
  /** Exits with code 4 for an unknown agent; `undefined` leaves that to the version */
  readonly strictAgent: boolean | undefined;
  readonly wal: boolean;
  /** File to which each call is appended as a line of JSON */
  readonly logFile: string | undefined;
};

type Traits = {
  readonly version: string;
  /** True if help lists both harnesses, of which V3 is in a runtime of its own */
  readonly hasV3: boolean;
  /** The harness of `acp` without a flag; `undefined` without the command */
  readonly acp: Harness | undefined;
};

/**
 * The profiles. Each line says what the stand-in does, and how that is known of the real program: by its documentation (doc), by somebody's
 * measurement of a version up to 2.29 (obs), or by a conclusion that nobody has checked (inf). No measurement of 3.x was found.
 *
 * `q1`, the first engine (Q 1.19, Kiro 1.x; obs): a green marker, exit code 1 for a missing login or a tool that needs approval, the older
 * names of a repository's folders, no ACP.
 *
 * `v2`, to 2.22, and the default:
 * - help lists no harness (inf of versions before 2.8); a missing login waits for a browser, and ends `acp` (obs)
 * - an unknown agent is replaced by `kiro_default` with a line on stderr (obs)
 * - a `preToolUse` hook blocks a tool by exit code 2 (doc)
 * - a JSON agent with `permissions` is refused, and Markdown is not read (obs)
 *
 * `v2late`, 2.37:
 * - help lists `--agent-engine`, `--v2` and `--v3` (obs); `chat` without them is V2 (doc), and so is `acp` (obs)
 * - exit code 4 for an unknown agent on V2 (doc); `permissions` are accepted (obs); `KIRO_AGENT_CONFIG_DIR` replaces both folders (doc)
 * - resuming ignores `--agent`, and an unknown id begins a conversation (obs)
 * - every start of V3 upgrades JSON agents in place (doc), and passes over read-only ones (inf)
 *
 * `v3`, 3.2: as `v2late`, but `acp` without a flag is V3 (inf). The V3 harness of both:
 * - runs from `KIRO_RUNTIME_DIR` (doc) or `~/.local/share/kiro-cli` (obs), and unpacks what is not there; a complete one may be read-only (inf)
 * - reads Markdown with front matter in folders, whose path is the name (doc), and JSON with `permissions` (obs)
 * - headless: an unknown agent is silently replaced (obs), or is exit code 4 with `FAKE_KIRO_STRICT_AGENT=1` (doc); hooks never run (obs);
 *   its conversations are not those of V2 (doc); text has no marker and no cost (inf), and tools are on stderr (obs)
 * - `acp` refuses `--agent`, `--model`, `--effort` and `--trust-*`, and answers with `extensionMethods` (obs)
 * - agents come with a session, at most 50, without hooks and with resolved prompts (obs); without `tools` they have none (obs)
 * - each mode names its origin (obs): `bundled` wins over the client's (obs), and so does a repository's file (inf)
 * - an unknown mode is told with `not_found`, an invalid definition with `config_error`, and `vibe` answers (obs)
 * - the mode of each prompt counts, and one that is set after the first is only shown (obs); the model is an option that comes after the
 *   answer (obs); `autopilot` is on and asks nobody (obs), and off it asks as V2 (obs)
 * - deny before ask before allow (doc), also of `~/.kiro/settings/permissions.yaml` (doc); `allowedTools` has no effect (obs)
 * - `session/load` creates an unknown conversation, `session/delete` deletes one (obs)
 * - hooks run for a client that names them (obs); without `--auth-method cli` the client is asked for a token (obs); -32000 without a login (doc)
 */
const PROFILES = {
  q1: { version: "1.22.0", hasV3: false, acp: undefined },
  v2: { version: "2.12.0", hasV3: false, acp: "v2" },
  v2late: { version: "2.37.0", hasV3: true, acp: "v2" },
  v3: { version: "3.2.0", hasV3: true, acp: "v3" },
} as const satisfies Readonly<Record<string, Traits>>;

/** Reads the `FAKE_KIRO_*` variables. */
export function loadSettings(env: NodeJS.ProcessEnv): Settings {
  const profile = parseProfile(env["FAKE_KIRO_PROFILE"] ?? "v2");
  const strict = env["FAKE_KIRO_STRICT_AGENT"];
  return {
    profile,
    traits: PROFILES[profile],
    harness: "v2",
    strictAgent: strict === undefined ? undefined : strict === "1",
    wal: env["FAKE_KIRO_WAL"] === "1",
    logFile: env["FAKE_KIRO_LOG"],
  };
}

/** Parses the name of a profile. */
export function parseProfile(text: string): Profile {
  const names = Object.keys(PROFILES) as readonly Profile[];
  const profile = names.find((each) => each === text);
  if (profile !== undefined) return profile;
  throw toExitError(2, `FAKE_KIRO_PROFILE must be one of ${names.join(", ")}, not "${text}".`);
}
