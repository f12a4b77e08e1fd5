import { BudgieError, type Command } from "@budgie/core";

/** The init script's exit code if it did not run the command. Neither signals nor shells use it. */
export const NOT_RUN = 125;

// Runs in any image that has a /bin/sh, as the one child of the engine's init.
//
// Budgie writes to its stdin. The first line contains the number of lines of input ("live": the rest of stdin is the agent's), and
// the second one the command as shell code, so that a container can start before its command is known, and the engine never learns
// it. After the input, stdin is a lease: it stays silent, ends when budgie does, and then the script ends all processes. In a live
// conversation the agent's own input is the lease, and an agent that reads it and does not end with it is ended some seconds later.
//
// The exit marker, on both streams, contains the command's exit code (`exit-marker.ts`). The token before it is only in this
// shell's memory: a process that can read that can also make the shell exit with any code.
const LINES: readonly string[] = [
  // The lease kills all processes, so the script refuses to run outside a container.
  `[ "$PPID" = 1 ] || exit ${NOT_RUN}`,
  "exec 3<&0",
  // A shell exports variables that it got from its environment, with the values that it reads into them.
  // The arguments are names of the image's variables that the agent does not get.
  '[ "$#" = 0 ] || unset "$@"',
  "unset budgie_agent budgie_lines budgie_token budgie_command budgie_newline budgie_signalled",
  "budgie_newline='",
  "'",
  `read -r budgie_lines budgie_token <&3 && IFS= read -r budgie_command <&3 || exit ${NOT_RUN}`,
  // Sets the arguments, and defines the function that runs a program with the command's variables.
  'eval "$budgie_command"',
  `with_variables command -v "$1" >/dev/null || { echo "$1: not found in the sandbox" >&2; exit ${NOT_RUN}; }`,
  "feed() {",
  '  while [ "$budgie_lines" -gt 1 ]; do',
  "    IFS= read -r line <&3 || return",
  "    printf '%s\\n' \"$line\"",
  "    budgie_lines=$((budgie_lines - 1))",
  "  done",
  "  IFS= read -r line <&3 && printf '%s' \"$line\"",
  "}",
  "lease() {",
  // exec, since redirecting the call would keep the agent's stdin open in a saved descriptor.
  "  exec >/dev/null",
  "  while IFS= read -r line <&3; do :; done",
  "  kill -TERM -1; sleep 2; kill -KILL -1",
  "}",
  "converse() {",
  // The loop is for images without cat.
  "  cat <&3 || while IFS= read -r line <&3; do printf '%s\\n' \"$line\"; done",
  "  exec >/dev/null",
  "  sleep 2; lease",
  "}",
  'input() { if [ "$budgie_lines" = live ]; then converse & else feed; lease & fi; }',
  // Set before the agent starts: an early signal would end this shell, and the engine would kill the agent at once.
  `trap 'budgie_signalled=yes; kill -TERM "$budgie_agent" 2>/dev/null' TERM`,
  // The lease is a grandchild: a shell that waits for one process of a pipeline waits for all of them.
  `{ trap '' PIPE; input; } 2>/dev/null | { exec 3<&-; with_variables exec "$@"; } &`,
  "budgie_agent=$!",
  '[ -z "$budgie_signalled" ] || kill -TERM "$budgie_agent" 2>/dev/null',
  'wait "$budgie_agent"; code=$?',
  // A trapped signal ends a wait early, even one that has seen the agent's end. The next wait returns the agent's exit code, or, in
  // bash, perhaps 127 or -1.
  'while [ -n "$budgie_signalled" ]; do',
  "  budgie_signalled=",
  '  wait "$budgie_agent" 2>/dev/null; again=$?',
  "  case $again in 127 | -1) ;; *) code=$again ;; esac",
  "done",
  "kills=",
  // The counters of cgroup v2 and v1.
  "for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do",
  '  [ -r "$file" ] || continue',
  '  while read -r name count; do [ "$name" != oom_kill ] || kills=$count; done <"$file"',
  "done",
  'exit_marker() { printf \'\\000%s %s %s\\n\' "$budgie_token" "$code" "$kills"; }',
  // An agent may leave its pipes full and non-blocking: then the shell's error message must not be written to stderr.
  "exec 4>&2 2>/dev/null",
  "exit_marker; exit_marker >&4",
  'exit "$code"',
];

/** The program that a turn's container runs, for `/bin/sh -c`. */
export const INIT_SCRIPT = LINES.join("\n");

type Program = Pick<Command, "argv" | "env"> & {
  /** A program that runs before, without the command's variables, and whose output and exit code do not count; default none */
  readonly setup?: readonly string[] | undefined;
};

/**
 * Returns the text for the init script's stdin. An `undefined` input means a live conversation. Throws `CONFIG_INVALID` for a command
 * that no process can have.
 */
export function buildInitInput(command: Program, input: string | undefined, token: string): string {
  const [lines, end] = input === undefined ? ["live", ""] : [input.split("\n").length, `${input}\n`];
  return `${lines} ${token}\n${buildCode(command)}\n${end}`;
}

/** Returns one line of shell code. */
function buildCode({ argv, env, setup }: Program): string {
  const bad = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (bad !== undefined) throw invalid(`has the variable ${JSON.stringify(bad)}, whose name no shell accepts`);
  if ([...argv, ...Object.values(env)].join("").includes("\0")) throw invalid("has a NUL character");
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quote(value)} `);
  const before = setup === undefined ? "" : `${setup.map(quote).join(" ")} 3<&- </dev/null >/dev/null 2>&1; `;
  return `${before}set -- ${argv.map(quote).join(" ")}; with_variables() { ${variables.join("")}"$@"; }`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`).replaceAll("\n", `'"$budgie_newline"'`)}'`;
}

function invalid(what: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The agent's command ${what}. Change its arguments or variables.`);
}
