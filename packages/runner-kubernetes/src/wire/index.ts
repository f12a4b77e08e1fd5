// The public surface of @budgie/runner-kubernetes/wire: every export is named here, and becomes API.
export { CLOCK, pause, type Clock } from "./clock.ts";
export { findRefusedStatus, openExec, type ExecOptions } from "./open-exec.ts";
export type { Opening, Purpose, Side } from "./opening.ts";
export { receiveFile } from "./receive-file.ts";
export { sendFile } from "./send-file.ts";
export { parseAgentEnd, type AgentEnd } from "./agent-end.ts";
export type { WireStream } from "./wire-stream.ts";
export { createWire, type Wire, type WireOptions } from "./wire.ts";
