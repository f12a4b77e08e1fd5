/** A reference of a repository, such as `refs/heads/main` or `HEAD`, and the hash that it names. */
export type Reference = { readonly name: string; readonly commit: string };

/** The largest file of references that is read: of one name, and of all that are packed. */
const LARGEST = { loose: 1024, packed: 4 * 1024 ** 2 };

/** Returns the most bytes that are read of a path of a copy; `undefined` if it holds no references. */
export function findReferenceBytes(path: string): number | undefined {
  if (path === ".git/packed-refs") return LARGEST.packed;
  return path === ".git/HEAD" || path.startsWith(".git/refs/") ? LARGEST.loose : undefined;
}

/** Reads the references in one file of git's folder, as bytes. A symbolic reference names no hash itself. */
export function readReferences(path: string, content: Buffer): readonly Reference[] {
  const text = content.toString("utf8");
  if (path !== ".git/packed-refs") return toReference(path.slice(".git/".length), text.trim());
  return text.split("\n").flatMap((line) => {
    const space = line.indexOf(" ");
    return space === -1 ? [] : toReference(line.slice(space + 1), line.slice(0, space));
  });
}

function toReference(name: string, commit: string): readonly Reference[] {
  const isShown = name.length <= LONGEST_NAME && !UNSEEN.test(name);
  return isShown && HASH.test(commit) ? [{ name, commit }] : [];
}

// Longer than a file system takes. Git's own names have no control characters.
const LONGEST_NAME = 255;
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
