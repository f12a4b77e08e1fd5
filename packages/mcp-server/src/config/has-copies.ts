import type { Settings } from "./settings.ts";

/** Returns true if some agent works on a copy of its directory. */
export function hasCopies({ policies, workspaces = [] }: Pick<Settings, "policies"> & Partial<Settings>): boolean {
  const all = [policies, ...workspaces.map((one) => one.policies)];
  const access = all.flatMap(({ agents, ceiling }) => [ceiling, ...agents.values()]);
  return access.some(({ workspace }) => workspace === "copy");
}
