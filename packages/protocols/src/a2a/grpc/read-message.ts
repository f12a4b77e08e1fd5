/** A field of a protobuf message that holds a text, bytes, or a message. */
type Field = readonly [number: number, content: Buffer];

/** The number of fields that may still be read. Messages of one exchange share it. */
export type FieldBudget = { left: number };

// As in every implementation of protobuf
const LONGEST_VARINT = 10;
const LARGEST_KEY = 2 ** 32 - 1;

/**
 * Yields the fields of a message that have a length; those of other wire types are skipped. Throws `RangeError` for bytes that are no
 * message, for groups, which proto3 does not have, and beyond the budget.
 */
export function* readMessage(bytes: Buffer, budget: FieldBudget): Generator<Field, undefined> {
  let at = 0;
  while (at < bytes.length) {
    if (--budget.left < 0) throw new RangeError("too many fields");
    const [key, afterKey] = readVarint(bytes, at);
    if (key < 8 || key > LARGEST_KEY) throw new RangeError("a field without a number");
    const wireType = key % 8;
    if (wireType !== 2) {
      at = skipScalar(bytes, afterKey, wireType);
      continue;
    }
    const [length, start] = readVarint(bytes, afterKey);
    at = start + length;
    if (at > bytes.length) throw new RangeError("a truncated field");
    yield [Math.floor(key / 8), bytes.subarray(start, at)];
  }
  return undefined;
}

/** Returns the first field with a number; `undefined` if there is none. */
export function findField(bytes: Buffer | undefined, number: number, budget: FieldBudget): Buffer | undefined {
  if (bytes === undefined) return undefined;
  for (const [found, content] of readMessage(bytes, budget)) if (found === number) return content;
  return undefined;
}

function skipScalar(bytes: Buffer, at: number, wireType: number): number {
  const sizes = new Map([
    [1, 8],
    [5, 4],
  ]);
  const size = sizes.get(wireType);
  if (size === undefined && wireType !== 0) throw new RangeError(`a field of wire type ${wireType}`);
  const end = size === undefined ? readVarint(bytes, at)[1] : at + size;
  if (end > bytes.length) throw new RangeError("a truncated field");
  return end;
}

/** Returns a number and the position after it. Large numbers lose their last digits, and stay larger than any message. */
function readVarint(bytes: Buffer, at: number): readonly [value: number, end: number] {
  let value = 0;
  for (let index = 0; index < LONGEST_VARINT; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) throw new RangeError("a truncated field");
    value += (byte % 128) * 128 ** index;
    if (byte < 128) return [value, at + index + 1];
  }
  throw new RangeError("a number of more than 10 bytes");
}
