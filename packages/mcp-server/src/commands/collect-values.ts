/** Adds to the values of a repeatable option those of one more time that it is given. */
export function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(",")];
}

/** The same for paths, which may hold a comma; only in a variable it parts two of them. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
