// The public surface of @budgie/sandbox/login: every export is named here, and becomes API.
export { COPY_FILES } from "./copy-database.ts";
export { copySessionDatabase } from "./copy-session-database.ts";
export { createKiroLogin, type KiroLoginOptions } from "./create-kiro-login.ts";
export { COMPANIONS, DATABASE, LARGEST_DATABASE_BYTES } from "./kiro-database.ts";
export {
  findLoginNeed,
  openWithoutLogin,
  type Login,
  type LoginFacts,
  type LoginHome,
  type LoginNeed,
} from "./login.ts";
export { createScratchFolder } from "./scratch-folder.ts";
