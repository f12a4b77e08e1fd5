import { join } from "node:path";
import type { ProjectImageReport } from "@budgie/core/errors";
import { isWithin } from "@budgie/core/policy";
import { findImageSource, type ImageSource } from "./find-image-source.ts";
import { readImageApprovals, type ImageApproval } from "./image-approval.ts";
import { judgeImageSource } from "./judge-image-source.ts";

/**
 * Chooses the image of a turn in a directory, by its real path: that of the directory's own files, or else of the allowed directory with the
 * longest path that holds it. Reads all of it anew. Returns `undefined` if no file asks for one.
 */
export function chooseImage(directory: string, place: { readonly stateDir: string }): ProjectImageReport | undefined {
  const approvals = readImageApprovals(place);
  const source = findImageSource(directory) ?? findAbove(directory, approvals);
  if (source === undefined) return undefined;
  const state = judgeImageSource(source, approvals);
  const file = join(source.directory, source.file);
  return "imageId" in state
    ? { used: "project", reason: "allowed", file, id: state.imageId }
    : { used: "default", reason: state.reason, file };
}

function findAbove(directory: string, approvals: readonly ImageApproval[]): ImageSource | undefined {
  const above = approvals.map((approval) => approval.directory).filter((one) => isWithin(directory, one));
  const [longest] = above.toSorted((one, other) => other.length - one.length);
  return longest === undefined || longest === directory ? undefined : findImageSource(longest);
}
