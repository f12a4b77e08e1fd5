# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh by the scripts that make images: a Debian, made of packages where it can be, so that no container
# registry is needed.

engine() { node scripts/lib/engine-cli.mjs "$@"; }

base=budgie-base
tools=budgie-tools:latest

# The image that others are built on. Its npm is fetched again only if docker/tools says something else than it did then.
provide_tools() {
  engine has "$base" || make_debian
  if engine built docker/tools "$tools"; then return; fi
  step "Fetch npm" fetch docker/tools
  step "Make $tools of it" engine build "$work/tools" "$tools" docker/tools
}

# The packages are in it only where it is made of packages.
make_debian() {
  if ! is_root_on_debian; then
    step "Pull debian:bookworm-slim" engine pull debian:bookworm-slim "$base"
    return
  fi
  command -v mmdebstrap >/dev/null || step "Install mmdebstrap" apt_install mmdebstrap debian-archive-keyring
  step "Make a Debian base from packages" bootstrap
  step "Import it as $base" engine import "$work/debian.tar" "$base"
  rm "$work/debian.tar"
}

bootstrap() {
  mmdebstrap --variant=minbase --include="ca-certificates curl git" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$work/debian.tar"
}

# fetch RECIPE: what its package.json asks npm for, beside a copy of it. The versions are exact, and so are those that they
# ask for themselves.
fetch() {
  cp -R "$1" "$work/" &&
    npm install --prefix "$work/${1##*/}" --ignore-scripts --no-package-lock --no-audit --no-fund
}
