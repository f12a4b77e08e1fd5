import { statSync } from "node:fs";
import { rolldown } from "rolldown";

/** Packages that stay outside of bundles: better-sqlite3 has native code. */
export const EXTERNAL = ["better-sqlite3"];

/** Replacements for packages whose build for `require` is UMD, whose imports a bundler cannot follow. */
export const ALIASES = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" };

/** Bundles a compiled program and its libraries. */
export async function bundleProgram(program, output) {
  const build = await rolldown({ input: program, platform: "node", external: EXTERNAL, resolve: { alias: ALIASES } });
  await build.write({ format: "cjs", ...output });
  await build.close();
}

/** Tells whether a file is at least as new as all its sources. */
export function isCurrent(made, sources) {
  const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return sources.every((source) => timeOf(source) <= timeOf(made));
}
