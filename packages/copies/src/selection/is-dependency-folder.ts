const NAMES: ReadonlySet<string> = new Set(["node_modules", ".venv", "vendor"]);

/** Returns true for the name of a folder of dependencies, which a copy gets although git ignores it: without it no test would run. */
export function isDependencyFolder(name: string): boolean {
  return NAMES.has(name);
}
