import type { WildToken } from "./compile-wild-pattern.ts";

/** Counts the steps of matching. A repository chooses the patterns and the names, so that both can be as slow as they get. */
export type MatchBudget = { readonly spend: (steps: number) => void };

/**
 * Matches a text, whose characters are bytes, against a pattern. Follows all ways through the pattern at once, so that its steps are at most the
 * product of both lengths: no pattern takes exponential time.
 */
export function matchWildPattern(tokens: readonly WildToken[], text: string, budget: MatchBudget): boolean {
  let places = new Set<number>();
  addPlace(tokens, places, 0);
  for (let at = 0; at < text.length && places.size > 0; at++) {
    budget.spend(places.size);
    const next = new Set<number>();
    for (const place of places) stepOver(tokens, { place, byte: text.charCodeAt(at) }, next);
    places = next;
  }
  return places.has(tokens.length);
}

type Step = { readonly place: number; readonly byte: number };

function stepOver(tokens: readonly WildToken[], { byte, place }: Step, next: Set<number>): void {
  const token = tokens[place];
  if (token === undefined || token.kind === "never") return;
  if (token.kind === "run") {
    if (token.reach === "folder" && byte === SLASH) return;
    next.add(place);
    // Only a run of nothing may skip its slash.
    addPlace(tokens, next, place + 1);
    return;
  }
  if (token.kind === "byte" ? token.byte === byte : token.bytes.has(byte)) addPlace(tokens, next, place + 1);
}

const SLASH = 0x2f;

/** Adds a place in the pattern, and those behind runs that match nothing. */
function addPlace(tokens: readonly WildToken[], places: Set<number>, place: number): void {
  for (let at = place; !places.has(at); at++) {
    places.add(at);
    const token = tokens[at];
    if (token?.kind !== "run") return;
    if (token.skipsSlash) addPlace(tokens, places, at + 2);
  }
}
