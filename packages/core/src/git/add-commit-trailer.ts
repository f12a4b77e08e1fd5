import { createHash } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ensureMountedFile } from "../text/replace-file.ts";

/** The additions to an agent's processes that have their commits name agent and run. */
export type CommitTrailer = {
  readonly env: Readonly<Record<string, string>>;
  /** Path on the host of the folder of git hooks that `env` names */
  readonly commitHooks: string;
};

/** The variables of an agent, and the names of an agent and a run. */
type CommitsOf = {
  readonly agent: string;
  readonly runId: string;
  readonly env: Readonly<Record<string, string>>;
};

/**
 * Writes git hooks below the state directory, if they are missing, and returns the variables by which git runs them. Each runs the
 * repository's own hook of its name. Settings of git in `env` stay in force.
 */
export function addCommitTrailer(stateDir: string, { agent, env, runId }: CommitsOf): CommitTrailer {
  const folder = join(stateDir, "sandbox", `git-hooks-${DIGEST}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Other users' containers may read them, whatever the umask.
  chmodSync(folder, 0o755);
  for (const name of HOOKS) chmodSync(ensureMountedFile(folder, name, SCRIPT), 0o755);
  const count = Number(env["GIT_CONFIG_COUNT"] ?? 0) || 0;
  const settings = { "core.hooksPath": folder, "budgie.agent": agent, "budgie.run": runId };
  // Only such variables and git's own options count more than the repository's configuration, where husky and others name their hooks.
  const added = Object.entries(settings).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${count + index}`, key],
    [`GIT_CONFIG_VALUE_${count + index}`, value],
  ]);
  const all = { GIT_CONFIG_COUNT: String(count + added.length / 2), ...Object.fromEntries(added) };
  return { commitHooks: folder, env: { ...env, ...all } };
}

// Every hook that git finds in that folder, but those of a push's other end, where git takes no such variables.
const HOOKS =
  `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push pre-auto-gc post-rewrite sendemail-validate reference-transaction post-index-change
  p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit`.split(/\s+/);

// `commit-msg` adds the trailers again to a message from an editor, and `--no-verify` skips only that hook.
const SCRIPT = `#!/bin/sh
# Written by budgie, for "commitTrailer": runs the repository's own hook of this name, and adds trailers to a commit's message.
name=\${0##*/}
i=0
while [ "$i" -lt "\${GIT_CONFIG_COUNT:-0}" ]; do
  eval "value=\\$GIT_CONFIG_VALUE_$i"
  # From here on git looks where it would without budgie.
  [ "$value" != "\${0%/*}" ] || export "GIT_CONFIG_KEY_$i=budgie.unused"
  i=$((i + 1))
done
own=$(git rev-parse --git-path "hooks/$name" 2>/dev/null)
case $name in
prepare-commit-msg | commit-msg | applypatch-msg) ;;
*)
  [ ! -x "$own" ] || exec "$own" "$@"
  exit 0
  ;;
esac
if [ -x "$own" ]; then "$own" "$@" || exit; fi
# An empty message still means that nothing is to be committed. Comments count only in one that no editor shows.
case "$name \${2:-}" in
"prepare-commit-msg message" | applypatch-msg*) said=$(git stripspace <"$1") ;;
*) said=$(sed '/^[^ ] -* >8 -*$/,$d' "$1" | git stripspace --strip-comments) ;;
esac
[ -n "$said" ] || exit 0
# git adds no line to a last one without an end.
[ -z "$(tail -c 1 "$1")" ] || echo >>"$1"
set -- "$1" "$(git config budgie.agent)" "$(git config budgie.run)" "$(git config core.commentChar || echo '#')"
# Outside the repository, whose configuration may have trailers of its own that this command would add.
GIT_DIR=/dev/null GIT_CONFIG_GLOBAL=/dev/null exec git -c core.commentChar="$4" interpret-trailers --in-place --no-divider \\
  --if-exists addIfDifferent --trailer "Budgie-Agent: $2" --trailer "Budgie-Run: $3" "$1"
`;

const DIGEST = createHash("sha256").update(SCRIPT).digest("hex").slice(0, 16);
