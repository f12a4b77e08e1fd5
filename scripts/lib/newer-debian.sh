# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh: installs the next Debian, with its Docker and Podman, into a folder.

newer=trixie
newer_debian=${BUDGIE_NEWER_DEBIAN:-$work/$newer}

# mmdebstrap, and the packages that the machine's own Podman needs.
engine_packages=(podman catatonit runc ca-certificates netavark aardvark-dns iptables slirp4netns uidmap
  mmdebstrap debian-archive-keyring)

make_newer_debian() {
  step "Make a Debian $newer with engines" mmdebstrap --variant=minbase \
    --include=ca-certificates,docker.io,iptables,podman,catatonit,netavark,nftables,runc,runsc \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$newer" "$newer_debian"
  # The kernel's modules for gVisor's other platform, and its network, are not everywhere.
  printf '#!/bin/sh\nexec /usr/bin/runsc --platform=systrap --network=none "$@"\n' >"$newer_debian/usr/bin/runsc-alone"
  chmod 755 "$newer_debian/usr/bin/runsc-alone"
}
