/** Appends a chunk. Joins small chunks, because each buffer has an overhead of some hundred bytes. */
export function addPiece(held: Buffer[], piece: Buffer): void {
  let joined = piece;
  for (let last = held.at(-1); last !== undefined && isToJoin(last, joined); last = held.at(-1)) {
    held.pop();
    joined = Buffer.concat([last, joined]);
  }
  held.push(joined);
}

const LARGE_BYTES = 4096;

/** Joins a chunk only to one that is no larger, so that no byte is copied often. */
function isToJoin(last: Buffer, next: Buffer): boolean {
  return last.length <= next.length && last.length + next.length <= LARGE_BYTES;
}
