import { relative } from "node:path";
import type { GitFolders } from "@budgie/core/policy";
import { SANDBOX } from "../profile/sandbox-paths.ts";

/**
 * Returns the program that makes the session's own git, for `sh -c`; `undefined` for a workspace that is no subfolder. It does nothing where
 * there is one, or no git. The index is that of HEAD, in which all files outside the workspace are marked as skipped.
 */
export function buildGitSetup(git: GitFolders | undefined, directory: string): readonly string[] | undefined {
  if (git?.around === undefined) return undefined;
  return [
    "sh",
    "-c",
    SCRIPT,
    "sh",
    SANDBOX.subfolderGit,
    SANDBOX.repository,
    git.around,
    relative(git.around, directory),
  ];
}

const SCRIPT = String.raw`
git=$1 shown=$2 around=$3 folder=$4
[ ! -e "$git" ] && command -v git || exit 0
export GIT_DIR="$git.new"
rm -rf "$GIT_DIR"
git init --bare --template= "$GIT_DIR" || exit
for part in HEAD refs packed-refs shallow; do
  [ ! -e "$shown/$part" ] || cp -R "$shown/$part" "$GIT_DIR" || exit
done
mkdir -p "$GIT_DIR/info" "$GIT_DIR/objects/info"
echo "$shown/objects" >"$GIT_DIR/objects/info/alternates"
printf '/%s/\n' "$folder" | sed 's/[][*?\\]/\\&/g' >"$GIT_DIR/info/sparse-checkout"
git config core.bare false
git config core.logAllRefUpdates true
git config core.sparseCheckout true
git config core.sparseCheckoutCone false
git config sparse.expectFilesOutsideOfPatterns true
export GIT_WORK_TREE="$around"
cd "$around" || exit
if git rev-parse --quiet --verify HEAD; then
  git read-tree HEAD || exit
  git ls-files -z -- . ":(exclude,literal)$folder" | git update-index -z --skip-worktree --stdin || exit
fi
mv "$GIT_DIR" "$git"
`;
