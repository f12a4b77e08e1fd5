/**
 * The opening of a stream of budgie's. All answers end with a last value: `{ok: true, ...}`, or `{error: {code, message, isBusy?}}` of a
 * `BudgieError`, with `isBusy` if a process that runs is in its way.
 *
 * | purpose | input of the Pod | answer |
 * |---|---|---|
 * | `turn` | a `ProcessOrder` of `orderBytes`, then stdin | stdout; last a `ProcessEnd`. The Pod opens `{purpose: "stderr"}` when the process runs |
 * | `control`, `ask: "hello"` | none | last `{ok, landlock, ports: [first, last], service, areFoldersOwn}`: the ABI of Landlock, 0 for none, the ephemeral ports, the API server's Service, such as `10.96.0.1:443`, or null, and false if home and copy are another user's |
 * | `control`, `ask: "stop"`, `signal: "TERM"` or `"KILL"` | none | last `{ok}` once all processes have the signal |
 * | `control`, `ask: "idle"` | none | last `{ok}` unless a process runs, with all that was hidden in its place again |
 * | `control`, `ask: "kinds"` | JSON: paths below the copy | JSON: `folder`, `file`, `link`, `other` or null for each |
 * | `control`, `ask: "hide"` | JSON: `{path, content?}[]` below the copy | last `{ok}`: they are away until the turn has ended, with `content` in their place: a `CoverEntry` of core's policy, `"empty folder"`, `{files: {name: text}}` or `{content: text}`. A missing path stays missing |
 * | `control`, `ask: "usage"` | none | last `{ok, homeBytes}` |
 * | `file`, `act: "fill"`, `volume`, `isPacked?`, `fillId?` | records that fill it from nothing; with `isPacked`, as a volume was packed | last `{ok}` |
 * | `control`, `ask: "fill"` | none | last `{ok, fillId}`: the id of the last fill of the copy, null unless that succeeded |
 * | `file`, `act: "pack"`, `volume` | none | records |
 * | `file`, `act: "write"`, `volume: "home"`, `"auth"` or `"shown"` | records that replace files and links, and make missing folders | last `{ok}` |
 * | `file`, `act: "cover"` | JSON of `listBytes`: paths of the home; then records | last `{ok}`: until the turn has ended, these paths are away, and what the records make is in their place. What the `cover` before had in place is gone, and all of the volume `shown` |
 * | `file`, `act: "read"`, `path`, `mostBytes` | none | the first bytes of a regular file of the home; last `{ok}`, or `{ok, kind}` for anything else: `folder`, `link`, `other`, null for a missing one, or `beyond` if a folder on the way is none |
 * | `file`, `act: "trust"`, `form` | the user's certificates in this form, `pem` or `java`, at most 2 MiB | last `{ok}`: agents can read them |
 *
 * Records are those of the copier (`forwarder/copier.c`).
 */
export type PodRequest =
  | { readonly purpose: "turn"; readonly orderBytes: number }
  | { readonly purpose: "control"; readonly ask: "fill" | "hello" | "idle" | "kinds" | "hide" | "usage" }
  | { readonly purpose: "control"; readonly ask: "stop"; readonly signal: "TERM" | "KILL" }
  | {
      readonly purpose: "file";
      readonly act: "fill";
      readonly volume: Volume;
      readonly isPacked?: true | undefined;
      readonly fillId?: string | undefined;
    }
  | { readonly purpose: "file"; readonly act: "pack"; readonly volume: Volume }
  | { readonly purpose: "file"; readonly act: "write"; readonly volume: "home" | "auth" | "shown" }
  | { readonly purpose: "file"; readonly act: "cover"; readonly listBytes: number }
  | { readonly purpose: "file"; readonly act: "trust"; readonly form: "pem" | "java" }
  | { readonly purpose: "file"; readonly act: "read"; readonly path: string; readonly mostBytes: number };

/** A volume of a Pod that budgie fills and reads: the session's home, or the copy of its workspace. */
export type Volume = "home" | "work";
