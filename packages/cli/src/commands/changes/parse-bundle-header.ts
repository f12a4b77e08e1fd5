/** A reference that a git bundle has, and the hash that it names. */
export type BundleReference = { readonly name: string; readonly commit: string };

/** Bytes of a bundle's beginning that hold its header, unless an agent made it for other purposes. */
export const LARGEST_HEADER = 1024 ** 2;

/** Parses the header of a git bundle; `undefined` if it is none, or has more than {@link LARGEST_HEADER} bytes. Names are the agent's. */
export function parseBundleHeader(content: Buffer): readonly BundleReference[] | undefined {
  const end = content.indexOf("\n\n");
  if (end === -1) return undefined;
  const [signature = "", ...lines] = content.subarray(0, end).toString("utf8").split("\n");
  if (!/^# v[23] git bundle$/.test(signature)) return undefined;
  return lines.flatMap((line) => {
    const [, commit, name] = REFERENCE.exec(line) ?? [];
    return commit === undefined || name === undefined ? [] : [{ name, commit }];
  });
}

const REFERENCE = /^([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/;
