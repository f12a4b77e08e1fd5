import type { CacheTool } from "@budgie/core/policy";

/** The folder of a cache in a sandbox. */
export const CACHE_FOLDER = "/cache";

// The home is another volume, so no tool finds the cache at its usual place.
const VARIABLES: Readonly<Record<CacheTool, Readonly<Record<string, string>>>> = {
  npm: { npm_config_cache: `${CACHE_FOLDER}/npm` },
  pip: { PIP_CACHE_DIR: `${CACHE_FOLDER}/pip` },
  // Cargo has no variable for its downloads alone.
  cargo: { CARGO_HOME: `${CACHE_FOLDER}/cargo` },
  go: { GOMODCACHE: `${CACHE_FOLDER}/go/mod`, GOCACHE: `${CACHE_FOLDER}/go/build` },
  maven: { MAVEN_OPTS: `-Dmaven.repo.local=${CACHE_FOLDER}/maven` },
};

/** Returns the variables by which tools find their folders in the cache. */
export function cacheEnvironment(tools: readonly CacheTool[] = []): Readonly<Record<string, string>> {
  return Object.assign({}, ...tools.map((tool) => VARIABLES[tool])) as Record<string, string>;
}
