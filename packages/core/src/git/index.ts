// The public surface of @budgie/core/git: every export is named here, and becomes API.
export { addCommitTrailer } from "./add-commit-trailer.ts";
export { findGitAccess } from "./find-git-access.ts";
export { findGitFolder, parsePointer, type GitFolder } from "./find-git-folder.ts";
export { readGitFile } from "./read-git-file.ts";
export { readGitIdentity } from "./read-git-identity.ts";
