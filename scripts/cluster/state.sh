# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh and build.sh: one cluster on this machine, and what it needs there.

# name_cluster NAME
name_cluster() {
  cluster=$1
  [[ $cluster =~ ^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$ ]] || die "The name of a cluster is of up to 30 small letters, digits and dashes, not $cluster."
  # A fixed path, so that tests know it, and a short one: those of sockets have at most 108 characters.
  state="/tmp/budgie-cluster-$cluster"
}

is_up() { [ -O "$state" ] && [ -e "$state/ready" ] && is_ours "$(node_pid)"; }

node_pid() { cat "$state/pid" 2>/dev/null || true; }

# The process id of a cluster that crashed may belong to another process by now.
is_ours() { [ -n "$1" ] && tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF "cluster/node $cluster $state "; }

start_node() { env -u GOGC scripts/cluster/start "$cluster" "$state" "$built" "${OWN_NODE:-open}" {turn}>&-; }

in_node() { nsenter --target "$(node_pid)" --mount --net --pid "$@"; }

in_images() { in_node ctr --address "$state/run/containerd.sock" --namespace k8s.io images "$@"; }

import_images() { in_images import --all-platforms -; }

# Names an image that a registry is not asked for, as it is for "latest".
name_local() { in_images tag --force "docker.io/library/$1:latest" "docker.io/library/$1:local"; }

# Ends the processes of a cluster with the first of them, on which their namespaces depend, with all mounts and devices in these. Finds it
# by its command line, since a start that was interrupted wrote no process id.
clear_away() {
  local pid group
  for pid in $(pgrep --full -- "cluster/node $cluster $state " || true); do
    kill -KILL "$pid" 2>/dev/null || true
    # The kernel removes it once all others are gone.
    while grep -qs '^State:\s*[^Z]' "/proc/$pid/status"; do sleep 0.05; done
  done
  for group in /sys/fs/cgroup/{,*/}"budgie-cluster-$cluster"; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} \;
  done
  [ ! -O "$state" ] || rm -rf "$state"
}

provide_programs() {
  local missing=() program
  [ "$(id -u)" = 0 ] || die "Only root can start a cluster."
  for program in containerd:containerd runc:runc iptables:iptables ipset:ipset ip:iproute2 openssl:openssl curl:curl pgrep:procps; do
    command -v "${program%%:*}" >/dev/null || missing+=("${program#*:}")
  done
  [ -x /usr/lib/cni/bridge ] || missing+=(containernetworking-plugins)
  [ ${#missing[@]} = 0 ] && return
  is_root_on_debian || die "A cluster needs what Debian has in these packages: ${missing[*]}"
  step "Install ${missing[*]}" apt_install "${missing[@]}"
}
