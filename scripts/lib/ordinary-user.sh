# shellcheck shell=bash disable=SC2154
# Sourced after steps.sh: runs commands as an ordinary user without a name. They run in a copy of the checkout, because only root
# may be able to read the original. The temporary folder has a short name, because the paths of Unix sockets are limited.

ordinary=61000

make_ordinary_user() {
  chmod 711 "$work"
  mkdir -p "$work/user/bin" "$work/user/home" "$work/t" "$work/user/checkout"
  chown -R "$ordinary:$ordinary" "$work/user" "$work/t"
  setpriv --reuid "$ordinary" --regid "$ordinary" --clear-groups node --version >/dev/null 2>&1 ||
    install -m 755 "$(node -p process.execPath)" "$work/user/bin/node"
}

copy_checkout() {
  # Tests beside this write below node_modules: an exit of 1 says that something changed meanwhile.
  { tar c --exclude=./.git --exclude=./interop/node_modules . || [ $? = 1 ]; } | (cd "$work/user/checkout" && setpriv_ordinary tar x)
}

# Runs a command with the engine at $socket.
as_ordinary_user() {
  (
    cd "$work/user/checkout" || exit
    setpriv_ordinary env -i PATH="$work/user/bin:$PATH" HOME="$work/user/home" TMPDIR="$work/t" \
      LANG="${LANG:-C.UTF-8}" TERM="${TERM:-dumb}" ${CI:+CI="$CI"} DOCKER_HOST="unix://$socket" \
      ${BUDGIE_TEST_IMAGE:+BUDGIE_TEST_IMAGE="$BUDGIE_TEST_IMAGE"} BUDGIE_TEST_BASE_IMAGE="$BUDGIE_TEST_BASE_IMAGE" \
      ${BUDGIE_TEST_PROGRAMS_IMAGE:+BUDGIE_TEST_PROGRAMS_IMAGE="$BUDGIE_TEST_PROGRAMS_IMAGE"} \
      ${BUDGIE_TEST_MODULES:+BUDGIE_TEST_MODULES="$BUDGIE_TEST_MODULES"} \
      ${BUDGIE_IS_SET_UP:+BUDGIE_IS_SET_UP="$BUDGIE_IS_SET_UP"} ${BUDGIE_FLAKY:+BUDGIE_FLAKY="$BUDGIE_FLAKY"} "$@"
  )
}

setpriv_ordinary() {
  setpriv --reuid "$ordinary" --regid "$ordinary" --groups "$(stat -c %g "$socket")" --inh-caps=-all "$@"
}
