import type { Command, Cover, InHome } from "./runner.ts";

/** The paths that a command hides, by their place. */
export type Hidden = {
  readonly ofWorkspace: Readonly<Record<string, Cover>>;
  /** Folders below the home, such as `.kiro/agents` */
  readonly ofHome: readonly string[];
};

/** Separates the paths that a command hides in its workspace from those in its home. */
export function toHidden({ hidden = {} }: Pick<Command, "hidden">): Hidden {
  return {
    ofWorkspace: Object.fromEntries(Object.entries(hidden).filter(([path]) => !isInHome(path))),
    ofHome: Object.keys(hidden)
      .filter(isInHome)
      .map((path) => path.slice(2)),
  };
}

function isInHome(path: string): path is InHome {
  return path.startsWith("~/");
}
