// The public surface of @budgie/core/bell: every export is named here, and becomes API.
export { createBell, type Bell, type BellProcess } from "./create-bell.ts";
export { findBellFiles } from "./find-bell-files.ts";
export { judgeBell } from "./judge-bell.ts";
export { ringBell } from "./ring-bell.ts";
