import type { ImageApproval } from "./image-approval.ts";
import type { ImageSource } from "./find-image-source.ts";

/** The image of a source, or the reason why it has none now. */
export type ImageState = { readonly imageId: string } | { readonly reason: string };

/** The reasons why a source has no image, by what a person has to do. */
export const NO_IMAGE = {
  unknown: "nobody has allowed it",
  changed: "changed since it was allowed",
  notBuilt: "allowed, and not built",
} as const;

/** Judges a source by the approval of its directory. */
export function judgeImageSource(source: ImageSource, approvals: readonly ImageApproval[]): ImageState {
  const approval = approvals.find(({ directory }) => directory === source.directory);
  const [refused] = source.refused;
  if (approval === undefined) return { reason: refused === undefined ? NO_IMAGE.unknown : `refused: ${refused}` };
  if (approval.key !== source.key || refused !== undefined) return { reason: NO_IMAGE.changed };
  return approval.imageId === undefined ? { reason: NO_IMAGE.notBuilt } : { imageId: approval.imageId };
}
