/** Adds bytes to what is held; small pieces are joined, since each costs some hundred bytes besides its own. */
export function addPiece(held: Buffer[], piece: Buffer): void {
  let joined = piece;
  for (let last = held.at(-1); last !== undefined && isToJoin(last, joined); last = held.at(-1)) {
    held.pop();
    joined = Buffer.concat([last, joined]);
  }
  held.push(joined);
}

const LARGE_BYTES = 4096;

/** Only to what is as large, so that no byte is copied often. */
function isToJoin(last: Buffer, next: Buffer): boolean {
  return last.length <= next.length && last.length + next.length <= LARGE_BYTES;
}
