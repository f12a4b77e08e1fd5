import { lstatSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { parseJson, readUnchecked, writeStateFile } from "@budgie/core/text";

/** The image that a directory asked for when a person at a terminal allowed it. */
export type ImageApproval = z.infer<typeof approvalSchema>;

const IMAGE_ID = z.string().regex(/^sha256:[\da-f]{64}$/);

const approvalSchema = z.object({
  /** The real path */
  directory: z.string(),
  /** The key of its image's source */
  key: z.string(),
  /** The ids of the images that it is built on, by name. One that the engine did not have then is left out until the first build */
  bases: z.record(z.string(), IMAGE_ID).optional(),
  /** The id of the image that was built of it; left out before */
  imageId: IMAGE_ID.optional(),
});

type StateDir = { readonly stateDir: string };

/** Reads the approvals, at most one for each directory. A file that is missing, a symlink, too large or not as budgie writes it allows nothing. */
export function readImageApprovals({ stateDir }: StateDir): readonly ImageApproval[] {
  const file = fileOf(stateDir);
  try {
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
    return z.array(approvalSchema).safeParse(parseJson(readUnchecked(file).bytes.toString("utf8"))).data ?? [];
  } catch {
    return [];
  }
}

/** Writes an approval in place of the directory's earlier one. Throws `CONFIG_INVALID` if that fails. */
export function storeImageApproval(approval: ImageApproval, place: StateDir): void {
  writeStateFile(fileOf(place.stateDir), [...without(approval.directory, place), approval]);
}

/** Removes a directory's approval, and returns it; `undefined` if there was none. */
export function removeImageApproval(directory: string, place: StateDir): ImageApproval | undefined {
  const found = readImageApprovals(place).find((one) => one.directory === directory);
  if (found !== undefined) writeStateFile(fileOf(place.stateDir), without(directory, place));
  return found;
}

function without(directory: string, place: StateDir): readonly ImageApproval[] {
  return readImageApprovals(place).filter((one) => one.directory !== directory);
}

function fileOf(stateDir: string): string {
  return join(stateDir, "images", "allowed.json");
}
