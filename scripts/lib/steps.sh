# shellcheck shell=bash
# Sourced by the other scripts: prints one line per step with its duration. The output of steps goes to a log outside the
# checkout, which is shown when a step fails and removed when the script succeeds.

set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/budgie-${0##*/}.XXXXXX")
log="$work/log"
declare -A begun=()
# Engines start several programs in Go for each container, and the compiler and the linter are some too. With fewer collections of
# garbage they take less of the processors.
export GOGC=400
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$repo"

finish() {
  stop_begun
  if [ -z "${failed:-}" ]; then rm -rf "$work"; else find "$work" -mindepth 1 -maxdepth 1 ! -name log -exec rm -rf {} +; fi
}

headline() { printf '\n%s\n' "$1"; }

note() { printf '  %-4s %s\n' "$1" "$2"; }

die() {
  printf '%s\n' "$1" >&2
  exit 1
}

# step TITLE COMMAND...
step() {
  local title=$1 began=$SECONDS
  shift
  if [ -t 1 ]; then printf '  ...  %s' "$title"; fi
  if "$@" >>"$log" 2>&1 </dev/null; then
    if [ -t 1 ]; then printf '\r'; fi
    note ok "$title ($((SECONDS - began)) s)"
  else
    if [ -t 1 ]; then printf '\r'; fi
    note FAIL "$title ($((SECONDS - began)) s)"
    show_log
    exit 1
  fi
}

show_log() {
  failed=yes
  printf '\nThe end of %s:\n' "$log" >&2
  tail -n 100 "$log" | sed 's/^/  | /' >&2
}

is_root_on_debian() { [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null; }

# apt_install PACKAGE...: installs Debian packages, once no other script or step installs any.
apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  if [ -z "${lists_are_fresh:-}" ]; then alone apt-get update -q && export lists_are_fresh=yes; fi &&
    alone apt-get install -yq --no-install-recommends "$@"
}

# apt-get fails while another apt-get runs.
alone() { flock --close /var/lib/apt/lists "$@"; }

# begin NAME COMMAND...: runs a command in the background, in a process group of its own. `finished NAME` waits for it, and shows
# its output.
begin() {
  local name=$1
  shift
  set -m
  ("$@") >"$work/$name.out" 2>&1 </dev/null &
  set +m
  begun[$name]=$!
}

finished() {
  local name=$1 status=0
  wait "${begun[$name]}" || status=$?
  unset "begun[$name]"
  cat "$work/$name.out"
  if [ "$status" != 0 ]; then
    failed=yes
    exit "$status"
  fi
}

# after NAME COMMAND...: runs a command once that background command has ended, in another one.
after() {
  while kill -0 "${begun[$1]}" 2>/dev/null; do sleep 1; done
  "${@:2}"
}

# pause NAME: lets a background command rest until `resume NAME`. Neither does anything if it has ended, or never began.
pause() { kill -STOP -- "-${begun[$1]:-}" 2>/dev/null || true; }

resume() { kill -CONT -- "-${begun[$1]:-}" 2>/dev/null || true; }

# abandon NAME: ends a background command.
abandon() {
  local pid=${begun[$1]}
  kill -- "-$pid" 2>/dev/null || true
  # One that rests would not notice.
  kill -CONT -- "-$pid" 2>/dev/null || true
  wait "$pid" || true
  unset "begun[$1]"
}

# Ends the background commands before the folder that they work in is removed.
stop_begun() {
  local name
  for name in "${!begun[@]}"; do abandon "$name"; done
}
