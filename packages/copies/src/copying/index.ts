// The public surface of @budgie/copies/copying: every export is named here, and becomes API.
export { createWorkspaceCopies, type CopiesOptions, type OpenCopies } from "./create-workspace-copies.ts";
export { openBaseFiles, type Base, type BaseFiles } from "./base-files.ts";
