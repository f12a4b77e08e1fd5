# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh and test-stages.sh: builds the cluster for tests beside other stages, where none is built yet.

# Begins the build. It takes only what the stages leave of one processor: with GOMAXPROCS=1 it compiles one package at a time.
begin_cluster() {
  local lack
  if scripts/test-cluster built >/dev/null 2>&1; then return; fi
  lack=$(find_build_lack)
  if [ -n "$lack" ]; then
    note skip "A Kubernetes node is neither built nor tested: $lack"
    return
  fi
  begin cluster env GOMAXPROCS=1 nice -n 19 ionice -t -c 3 scripts/test-cluster build
}

# Prints why the cluster cannot be built here; nothing if it can.
find_build_lack() {
  if ! is_root_on_debian; then
    echo "that needs root on Debian."
  elif ! command -v go >/dev/null; then
    echo "there is no go on the PATH."
  fi
}

# Runs the cluster's tests, after its build if that began. A failed build fails the run.
finish_cluster() {
  if [ -n "${begun[cluster]:-}" ]; then stage_begun cluster "The build of a Kubernetes node, after the stages beside it"; fi
  run_cluster_stage
}
