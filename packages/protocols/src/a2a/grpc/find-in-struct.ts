import { findField, readMessage, type FieldBudget } from "./read-message.ts";

// The numbers of google/protobuf/struct.proto
const [FIELDS, KEY, VALUE, STRING, STRUCT] = [1, 1, 2, 3, 5];

/** Returns the text at a path of a `google.protobuf.Struct`, as bytes; `undefined` if it has none. Reads nothing beside the path. */
export function findInStruct(
  struct: Buffer | undefined,
  [name, ...path]: readonly string[],
  budget: FieldBudget,
): Buffer | undefined {
  if (struct === undefined || name === undefined) return undefined;
  const key = Buffer.from(name);
  for (const [number, entry] of readMessage(struct, budget)) {
    if (number !== FIELDS || findField(entry, KEY, budget)?.equals(key) !== true) continue;
    const value = findField(entry, VALUE, budget);
    if (path.length === 0) return findField(value, STRING, budget);
    return findInStruct(findField(value, STRUCT, budget), path, budget);
  }
  return undefined;
}
