# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh by the scripts that make images: a Debian, made of packages where it can be, so that no container
# registry is needed.

engine() { node scripts/lib/engine-cli.mjs "$@"; }

# make_debian TAG [PACKAGES]: the packages, with spaces between them, are in it only where it is made of packages
make_debian() {
  if ! is_root_on_debian; then
    step "Pull debian:bookworm-slim" engine pull debian:bookworm-slim "$1"
    return
  fi
  command -v mmdebstrap >/dev/null || step "Install mmdebstrap" apt_install mmdebstrap debian-archive-keyring
  step "Make a Debian base from packages" bootstrap "${2:-}"
  step "Import it as $1" engine import "$work/debian.tar" "$1"
  rm "$work/debian.tar"
}

bootstrap() {
  mmdebstrap --variant=minbase ${1:+--include="$1"} \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$work/debian.tar"
}
