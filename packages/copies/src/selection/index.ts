// The public surface of @budgie/copies/selection: every export is named here, and becomes API.
export { LARGEST_COPY } from "./copy-bounds.ts";
export { isDependencyFolder } from "./is-dependency-folder.ts";
export { isSecretName } from "./is-secret-name.ts";
