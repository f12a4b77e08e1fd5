#!/bin/sh
# Serves who runs the image by hand: brings a login mounted at /auth into a home that has none. budgie prepares the home
# itself, and starts its programs without this script.
set -eu

login=/auth/data.sqlite3
data=${XDG_DATA_HOME:-$HOME/.local/share}/kiro-cli

if [ -f "$login" ] && [ ! -e "$data/data.sqlite3" ]; then
  (umask 077 && mkdir -p "$data" && cp "$login" "$data/data.sqlite3") ||
    echo "The login in $login was not copied to $data." >&2
fi

exec "$@"
