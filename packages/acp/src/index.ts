// The public surface of @budgie/acp: every export is named here, and becomes API.
export { createAcpProtocol, type AcpOptions } from "./acp-protocol.ts";
export { ALL_DEFINITIONS, PROGRAM_DEFINITIONS } from "./program-definitions.ts";
export type { AcpProgram, PermissionPolicy } from "./acp-program.ts";
