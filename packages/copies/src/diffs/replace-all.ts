/** Returns the hunk that removes one text and adds another. */
export function replaceAll(before: string, after: string): readonly string[] {
  const [old, fresh] = [splitLines(before), splitLines(after)];
  return [
    `@@ -${Math.min(old.length, 1)},${old.length} +${Math.min(fresh.length, 1)},${fresh.length} @@`,
    ...old.map((line) => `-${line}`),
    ...fresh.map((line) => `+${line}`),
  ];
}

function splitLines(text: string): readonly string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
