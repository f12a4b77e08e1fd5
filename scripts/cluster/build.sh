# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh: the programs of a cluster, built from Go modules. They are in a cache outside the checkout, since they take
# minutes and seldom change, in a folder named by what they are built from.

sources=(scripts/cluster/kube/go.{mod,sum} scripts/cluster/{kube,pause}/*.go)
kubernetes=$(sed -n 's/^\tk8s.io\/kubernetes v//p' scripts/cluster/kube/go.mod)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/budgie/cluster"
built="$cache/$kubernetes-$(uname -m)-$(cat "${sources[@]}" | sha256sum | cut -c 1-12)"

build() {
  command -v go >/dev/null || die "The cluster is built with Go 1.24 or newer, and there is no go on your PATH."
  take_turn build
  if [ -d "$built" ]; then
    note ok "The cluster is in $built"
    return
  fi
  # A build that was killed has left one.
  rm -rf "$cache"/partial.*
  partial=$(mktemp -d "$cache/partial.XXXXXX")
  trap 'rm -rf "$partial"; finish' EXIT
  step "Build Kubernetes $kubernetes and Helm, which takes nine minutes of a processor" build_kube
  step "Build pause" build_pause
  chmod 755 "$partial"
  mv -T "$partial" "$built"
  note ok "The cluster is in $built"
}

check_built() {
  [ -d "$built" ] && return
  printf 'There is no cluster for tests on this machine; this builds it, in some ten minutes: scripts/test-cluster build\n' >&2
  exit 1
}

build_kube() {
  local major=${kubernetes%%.*} minor version package
  minor=${kubernetes#*.}
  # Without these, the programs say that they are v0.0.0, and the kubelet finds itself too old.
  for version in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    set -- "$@" -X "$version.gitVersion=v$kubernetes" -X "$version.gitMajor=$major" -X "$version.gitMinor=${minor%%.*}"
  done
  # Without these, Helm renders charts for Kubernetes 1.20.
  for package in common v2/lint/rules; do set -- "$@" -X "helm.sh/helm/v4/pkg/chart/$package.k8sVersionMinor=${minor%%.*}"; done
  build_go kube . "$*"
}

# An image of a single file, as "docker save" writes one, so that a node starts without a container engine.
build_pause() {
  local image="$work/pause" digest
  mkdir "$image" &&
    build_go pause main.go &&
    tar -cf "$image/layer.tar" -C "$partial" --owner=0 --group=0 pause &&
    digest=$(sha256sum <"$image/layer.tar") &&
    printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
      "$(go env GOARCH)" "${digest%% *}" >"$image/config.json" &&
    printf '[{"Config":"config.json","RepoTags":["localhost/pause:local"],"Layers":["layer.tar"]}]' >"$image/manifest.json" &&
    tar -cf "$partial/pause.tar" -C "$image" manifest.json config.json layer.tar &&
    rm "$partial/pause"
}

# build_go NAME PACKAGE [LINKER-FLAGS]: versions are exactly those of the module's go.sum. The compiler takes a tenth less without the data
# for debuggers, which the linker would leave out.
build_go() {
  (cd "scripts/cluster/$1" && CGO_ENABLED=0 GOFLAGS='' go build -trimpath -buildvcs=false -gcflags all=-dwarf=false \
    -ldflags "-s -w ${3:-}" -o "$partial/$1" "$2")
}

# take_turn WHAT: waits for other scripts that do the same, until this one ends.
take_turn() {
  mkdir -p "$cache"
  exec {turn}>"$cache/$1.lock"
  flock "$turn"
}
