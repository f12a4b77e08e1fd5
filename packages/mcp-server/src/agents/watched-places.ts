import { lstatSync, readlinkSync } from "node:fs";
import { join, parse, resolve, sep } from "node:path";

/** A name in a folder, which may be missing. */
type Place = { readonly folder: string; readonly name: string };

type Way = {
  /** The path's end, and each link on the way to it */
  readonly places: readonly Place[];
  /** Absolute, and without links; `undefined` if it leads nowhere */
  readonly real: string | undefined;
};

// As many as the kernel follows.
const MOST_LINKS = 40;

/** Finds the places that decide what is at a path: who watches these folders sees it appear, go, or be another. */
export function findTurningPoints(path: string): Way {
  const places: Place[] = [];
  let { at, rest } = toParts(resolve(path));
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    const { kind, target } = look(next);
    if (kind !== "other" || rest.length === 0) places.push({ folder: at, name });
    if (kind === "missing" || places.length > MOST_LINKS) return { places, real: undefined };
    if (kind === "link") {
      const parts = toParts(resolve(at, target));
      at = parts.at;
      rest = [...parts.rest, ...rest];
    } else at = next;
  }
  return { places, real: at };
}

function toParts(path: string): { at: string; rest: string[] } {
  const { root } = parse(path);
  const rest = path.slice(root.length).split(sep);
  return { at: root, rest: rest.filter((name) => name !== "") };
}

type Found =
  | { readonly kind: "missing" | "other"; readonly target?: never }
  | { readonly kind: "link"; readonly target: string };

/** What is there; a link that is turned in this very moment is missing. */
function look(path: string): Found {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return { kind: "missing" };
    return found.isSymbolicLink() ? { kind: "link", target: readlinkSync(path) } : { kind: "other" };
  } catch {
    return { kind: "missing" };
  }
}
