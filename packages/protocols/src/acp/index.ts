// The public surface of @budgie/protocols/acp: every export is named here, and becomes API.
export { createAcpProtocol, type AcpOptions } from "./acp-protocol.ts";
export { tryProgram, type ProgramTrial } from "./try-program.ts";
export type { AcpProgram, PermissionPolicy } from "./conversation/acp-program.ts";
