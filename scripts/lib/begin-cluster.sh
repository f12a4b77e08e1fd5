# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh and test-stages.sh: builds the cluster for tests beside other stages, where none is built yet.

# Go's caches take a third of it, and the engines' images need room beside them.
build_kib=$((20 * 1024 * 1024))
# The second of the run after which no build goes on, so that the tests after it end within the time that the run may take.
build_until=3600

# Begins the build. It takes only what the stages leave of one processor: with GOMAXPROCS=1 it compiles one package at a time.
begin_cluster() {
  local lack
  if scripts/test-cluster built >/dev/null 2>&1; then return; fi
  lack=$(find_build_lack)
  if [ -n "$lack" ]; then
    leave_untested "$lack"
  else
    begin node env GOMAXPROCS=1 nice -n 19 scripts/test-cluster build
  fi
}

# Prints why the cluster cannot be built here; nothing if it can.
find_build_lack() {
  if ! is_root_on_debian; then
    echo "its build needs root on Debian."
  elif ! command -v go >/dev/null; then
    echo "its build needs Go, and there is no go on the PATH."
  elif [ "$(df --output=avail -k "$HOME" | tail -n 1)" -lt "$build_kib" ]; then
    echo "its build needs 20 GB, which $HOME does not have."
  fi
}

# Runs the cluster's tests where the machine lets a node be built and started. What it lacks fails no run, and is told at the end of it.
finish_cluster() {
  if [ -n "${begun[node]:-}" ]; then
    abandon node
    stage "The rest of a Kubernetes node's build" finish_build
  fi
  if [ ! -e "$work/untested" ] && scripts/test-cluster built >/dev/null 2>&1; then
    stage "A Kubernetes node to try" try_cluster
    if [ ! -e "$work/untested" ]; then BUDGIE_TEST_CLUSTER=trial run_cluster_stage; fi
  fi
}

# Builds with all processors what the build beside the stages did not get to: Go keeps each package that it compiled.
finish_build() {
  local left=$((build_until - SECONDS))
  if [ "$left" -le 0 ]; then
    leave_untested "the other stages took too long for its build."
  else
    timeout "$left" scripts/test-cluster build || leave_untested "its build failed, or took too long; see above."
  fi
}

# Starts the cluster that test files share, which the last of them ends.
try_cluster() {
  # One that was left has namespaces of these files.
  scripts/test-cluster down trial
  timeout 300 scripts/test-cluster up trial || leave_untested "none starts on this machine; see above."
}

# leave_untested WHY: in a file, since stages run in processes of their own.
leave_untested() {
  echo "A Kubernetes node was NOT TESTED: $1" >"$work/untested"
  note skip "$(<"$work/untested")"
}
