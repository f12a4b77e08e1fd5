/** A text and two later versions of it, as latin1, so that every byte survives. */
export type MergeRequest = { readonly base: string; readonly one: string; readonly other: string };

/**
 * Merges two versions of a text; `undefined` unless that is clear. The lines that all three texts have once, in the same order, part them into
 * pieces, of which only one version may have changed each, or both in the same way. That takes linear time, and leaves out what would depend
 * on how repeated lines are matched.
 */
export function mergeTexts(request: MergeRequest): string | undefined {
  const [base, one, other] = [request.base, request.one, request.other].map(splitLines) as [Lines, Lines, Lines];
  const merged: string[] = [];
  let from: Anchor = [0, 0, 0];
  for (const to of [...findAnchors(base, one, other), [base.length, one.length, other.length] as const]) {
    const texts = [base, one, other].map((lines, index) => lines.slice(from[index], to[index]).join(""));
    const piece = mergePiece(texts as [string, string, string]);
    if (piece === undefined) return undefined;
    merged.push(piece, base[to[0]] ?? "");
    from = [to[0] + 1, to[1] + 1, to[2] + 1];
  }
  return merged.join("");
}

type Lines = readonly string[];

/** The places of a line in the base and both versions. */
type Anchor = readonly [number, number, number];

/** Splits a text into lines with their ends. The last one may have none, and then differs from one that has it. */
function splitLines(text: string): Lines {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  return [...lines.map((line) => `${line}\n`), ...(last === "" ? [] : [last])];
}

function mergePiece([base, one, other]: readonly [string, string, string]): string | undefined {
  if (one === base) return other;
  return other === base || other === one ? one : undefined;
}

/** Finds the lines that each text has once, and that no version moved past another such line. */
function findAnchors(base: Lines, one: Lines, other: Lines): readonly Anchor[] {
  const [inBase, inOne, inOther] = [base, one, other].map(findSingle) as [Places, Places, Places];
  const shared = [...inBase].flatMap(([line, at]): readonly Anchor[] => {
    const [atOne, atOther] = [inOne.get(line), inOther.get(line)];
    return atOne === undefined || atOther === undefined ? [] : [[at, atOne, atOther]];
  });
  const isFixed = [1, 2].map((side) => findUnmoved(shared.map((anchor) => anchor[side] ?? 0)));
  return shared.filter((_, index) => isFixed.every((fixed) => fixed[index]));
}

type Places = ReadonlyMap<string, number>;

/** Returns the places of the lines that a text has once, in their order. */
function findSingle(lines: Lines): Places {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    else places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

/** Returns for each number if all before it are smaller, and all after it larger. */
function findUnmoved(numbers: readonly number[]): readonly boolean[] {
  const largest: number[] = [];
  for (const [index, number] of numbers.entries()) largest.push(Math.max(number, largest[index - 1] ?? -1));
  let smallest = Infinity;
  const isUnmoved = numbers.map(() => false);
  for (let index = numbers.length - 1; index >= 0; index--) {
    const number = numbers[index] ?? 0;
    isUnmoved[index] = largest[index] === number && number < smallest;
    smallest = Math.min(smallest, number);
  }
  return isUnmoved;
}
