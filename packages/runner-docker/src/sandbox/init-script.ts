/** The code with which the init script ends when it did not run the command: neither a signal's nor a shell's own. */
export const NOT_RUN = 125;

// Runs in any image that has a /bin/sh, as the one child of the engine's init.
//
// Its stdin is budgie: the first line is the word to begin, and says how many lines of input follow ("live": the rest of
// stdin is the agent's). So a container can be started before its home is filled. After the input, stdin is a lease: it
// says nothing more, and ends when budgie does, and then everything here ends too.
//
// Its exit marker, on both streams, says how the command ended (`exit-marker.ts`). The token before it is in this shell's memory
// alone: who can read that can also make the shell end with any code.
const LINES: readonly string[] = [
  // Ending everything must mean everything in the container, so it refuses to run anywhere else.
  `[ "$PPID" = 1 ] || exit ${NOT_RUN}`,
  "exec 3<&0",
  // What a shell was given as a variable it passes on, with what it reads into it: the agent keeps its own of other names.
  "unset budgie_lines budgie_token",
  `read -r budgie_lines budgie_token <&3 || exit ${NOT_RUN}`,
  `command -v "$1" >/dev/null || { echo "$1: not found in the sandbox" >&2; exit ${NOT_RUN}; }`,
  '[ "$budgie_lines" = live ] && exec "$@" <&3 3<&-',
  "feed() {",
  '  while [ "$budgie_lines" -gt 1 ]; do',
  "    IFS= read -r line <&3 || return",
  "    printf '%s\\n' \"$line\"",
  "    budgie_lines=$((budgie_lines - 1))",
  "  done",
  "  IFS= read -r line <&3 && printf '%s' \"$line\"",
  "}",
  "lease() {",
  // By exec, since a redirection of the call would keep the agent's stdin open in a saved descriptor.
  "  exec >/dev/null",
  "  while IFS= read -r line <&3; do :; done",
  "  kill -TERM -1; sleep 2; kill -KILL -1",
  "}",
  // The lease is a grandchild: a shell that waits for one process of a pipeline waits for all of them.
  `{ trap '' PIPE; feed; lease & } 2>/dev/null | "$@" 3<&- &`,
  "agent=$!",
  `trap 'kill -TERM "$agent" 2>/dev/null' TERM`,
  'wait "$agent"; code=$?',
  // A trapped signal ends the first wait early.
  'while kill -0 "$agent" 2>/dev/null; do wait "$agent"; code=$?; done',
  "kills=",
  // Of either version of cgroups; the engine alone can tell of others.
  "for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do",
  '  [ -r "$file" ] || continue',
  '  while read -r name count; do [ "$name" != oom_kill ] || kills=$count; done <"$file"',
  "done",
  'exit_marker() { printf \'\\000%s %s %s\\n\' "$budgie_token" "$code" "$kills"; }',
  // An agent may leave its pipes full and set not to block: then the shell's own complaint would be one byte too many.
  "exec 4>&2 2>/dev/null",
  "exit_marker; exit_marker >&4",
  'exit "$code"',
];

/** The program that a turn's container runs, for `/bin/sh -c`. */
export const INIT_SCRIPT = LINES.join("\n");

/** What the init script is told on its stdin for this input; `undefined` for a live conversation, which has no exit marker. */
export function toInitInput(input: string | undefined, token: string): string {
  if (input === undefined) return "live\n";
  return `${input.split("\n").length} ${token}\n${input}\n`;
}
