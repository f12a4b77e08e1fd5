// The public surface of @budgie/acp: every export is named here, and becomes API.
export { createAcpProtocol, type AcpOptions } from "./acp-protocol.ts";
export type { AcpProgram, PermissionPolicy } from "./conversation/acp-program.ts";
