/** Matches a name against a glob of `*` and `?`. Backtracks to the last star only, so that no glob takes exponential time. */
export function matchesGlob(glob: string, name: string): boolean {
  let [at, star, resume] = [0, -1, 0];
  let next = 0;
  while (next < name.length) {
    if (glob[at] === "*") [star, resume, at] = [at, next, at + 1];
    else if (glob[at] === "?" || glob[at] === name[next]) [at, next] = [at + 1, next + 1];
    else if (star < 0) return false;
    else [at, next, resume] = [star + 1, resume + 1, resume + 1];
  }
  return glob.slice(at).replaceAll("*", "") === "";
}
