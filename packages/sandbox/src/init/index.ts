// The public surface of @budgie/sandbox/init: every export is named here, and becomes API.
export { buildGitSetup } from "./build-git-setup.ts";
export { awaitExitMarker, createOutput, type Output } from "./exit-marker.ts";
export { buildInitInput, INIT_SCRIPT, NOT_RUN } from "./init-script.ts";
export { toExit } from "./to-exit.ts";
export { writeOrDrop } from "./write-or-drop.ts";
