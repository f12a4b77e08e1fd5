# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh: prepares the checkout, which means npm packages, a build, and a container engine that answers. Does only
# what is missing, and nothing for a script whose caller did and set BUDGIE_IS_SET_UP.

# Prepares everything except better-sqlite3, whose compilation takes half a minute. Images need not wait for it; `finish_set_up` does.
set_up() {
  if [ -n "${BUDGIE_IS_SET_UP:-}" ]; then return; fi
  headline "Set-up"
  check_node
  install_packages
  step "Compile the TypeScript" node_modules/.bin/tsc -b
  reach_engine
}

finish_set_up() {
  if [ -n "${BUDGIE_IS_SET_UP:-}" ]; then return; fi
  if [ -n "${begun[sqlite]:-}" ]; then finished sqlite; fi
  step "Build" npm run --silent build
}

check_node() {
  command -v node >/dev/null || die "budgie needs Node 20.19 or newer, and there is no node on your PATH. See https://nodejs.org/en/download."
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    die "budgie needs Node 20.19 or newer, and $(command -v node) is $(node --version). See https://nodejs.org/en/download."
  note ok "Node $(node --version)"
}

install_packages() {
  if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    step "Install the npm packages" npm ci --ignore-scripts --no-audit --no-fund
  fi
  sqlite_works || begin sqlite provide_sqlite
}

sqlite_works() { node -e 'new (require("better-sqlite3"))(":memory:")' >>"$log" 2>&1; }

# Provides the one package with native code: fetches its prebuilt binary, or compiles it.
provide_sqlite() {
  if fetch_sqlite >>"$log" 2>&1 && sqlite_works; then
    note ok "Fetched the prebuilt better-sqlite3"
    return
  fi
  if ! has_compiler; then
    is_root_on_debian || die "better-sqlite3 has no prebuilt binary for this machine and must be compiled: install python3, make and a C++ compiler (Debian: apt install python3 make g++)."
    step "Install a compiler for better-sqlite3" apt_install python3 make g++
  fi
  use_local_headers
  # One file of it takes nearly all the time, and -O3 twice as long as -O1, which a checkout does not notice.
  step "Compile better-sqlite3, which takes half a minute" env JOBS=max CFLAGS=-O1 CXXFLAGS=-O1 npm rebuild better-sqlite3
  sqlite_works || die "better-sqlite3 was compiled but does not load. Remove node_modules and try again."
}

fetch_sqlite() { (cd node_modules/better-sqlite3 && node ../prebuild-install/bin.js --verbose); }

has_compiler() { command -v python3 >/dev/null && command -v make >/dev/null && command -v g++ >/dev/null; }

# Headers beside the running Node save a download from nodejs.org, which may be unreachable.
use_local_headers() {
  local prefix major
  prefix=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
  major=$(node -p 'process.versions.node.split(".")[0]')
  if grep -qs "define NODE_MAJOR_VERSION $major\$" "$prefix/include/node/node_version.h"; then
    export npm_config_nodedir="$prefix"
  fi
}

reach_engine() {
  if engine_answers; then
    :
  elif [ -n "${DOCKER_HOST:-}${DOCKER_CONTEXT:-}" ] || ! is_root_on_debian; then
    local advice
    advice=$(cat "$work/engine-error")
    case $advice in
      *"permission denied"*) ;;
      *) advice+=' On Debian, "sudo apt install docker.io" installs one.' ;;
    esac
    die "$advice"
  else
    command -v dockerd >/dev/null || install_engine
    engine_answers || step "Start the container engine" start_engine
  fi
  note ok "Container engine: $(cat "$work/engine")"
}

engine_answers() { node scripts/lib/engine-cli.mjs where >"$work/engine" 2>"$work/engine-error"; }

install_engine() {
  local packages=(docker.io ca-certificates)
  # Other packages that the engine needs, if the machine lacks them.
  if grep -qs Y /sys/module/apparmor/parameters/enabled; then packages+=(apparmor); fi
  if [ -z "$(ls -A /sys/fs/cgroup)" ]; then packages+=(cgroupfs-mount); fi
  step "Install docker.io" apt_install "${packages[@]}"
}

start_engine() {
  if [ -d /run/systemd/system ]; then
    systemctl start docker
  else
    setsid dockerd >>/var/log/dockerd.log 2>&1 </dev/null &
  fi
  for _ in $(seq 60); do
    if engine_answers; then return; fi
    sleep 1
  done
  tail -n 30 /var/log/dockerd.log
  return 1
}
