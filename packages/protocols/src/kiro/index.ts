// The public surface of @budgie/protocols/kiro: every export is named here, and becomes API.
export { createKiroAcpProtocol } from "./kiro-acp-protocol.ts";
export { createKiroProtocol, type KiroOptions } from "./kiro-protocol.ts";
export { findAgentFiles } from "./agent-files.ts";
export { buildOtherCommand } from "./build-other-command.ts";
export { createFindKiroFlags } from "./help/kiro-flags.ts";
export { inspectKiro, listHarnesses, type KiroFacts } from "./help/inspect-kiro.ts";
export { findV3Obstacle } from "./v3/find-v3-obstacle.ts";
export { listV2AllowedTools, listV2Tools } from "./v2/list-v2-tools.ts";
export { findV2Obstacle } from "./v2/find-v2-obstacle.ts";
export { toV2Definition } from "./v2/to-v2-definition.ts";
export { listSharedProjections, type KiroModels } from "./build-kiro-command.ts";
