# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh by the scripts that build images. Provides a Debian base, built from packages as root on Debian, so that
# no container registry is needed.

engine() { node scripts/lib/engine-cli.mjs "$@"; }

base=budgie-base
tools=budgie-tools:latest

# Provides the image on which others are built. Its npm is fetched again only if docker/tools has changed.
provide_tools() {
  engine has "$base" || provide_base
  if engine built docker/tools "$tools"; then return; fi
  step "Fetch npm" fetch docker/tools
  step "Build $tools with it" engine build "$work/tools" "$tools" docker/tools
}

# Only a base built from packages contains curl and git; docker/tools installs them on the other.
provide_base() {
  if is_root_on_debian; then
    make_debian "$base" ca-certificates curl git patchelf
  else
    step "Pull debian:bookworm-slim" engine pull debian:bookworm-slim "$base"
  fi
}

# make_debian IMAGE PACKAGE...: makes an image of a minimal Debian with packages.
make_debian() {
  local image=$1
  shift
  command -v mmdebstrap >/dev/null || step "Install mmdebstrap" apt_install mmdebstrap debian-archive-keyring
  step "Make a Debian from packages" bootstrap "$@"
  step "Import it as $image" engine import "$work/debian.tar" "$image"
  rm "$work/debian.tar"
}

bootstrap() {
  mmdebstrap --variant=minbase --include="$*" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$work/debian.tar"
}

# fetch RECIPE: copies the recipe and installs the dependencies of its package.json. All versions are exact, including those of
# transitive dependencies.
fetch() {
  cp -R "$1" "$work/" &&
    npm install --prefix "$work/${1##*/}" --ignore-scripts --no-package-lock --no-audit --no-fund
}
