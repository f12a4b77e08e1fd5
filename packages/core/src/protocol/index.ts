// The public surface of @budgie/core/protocol: every export is named here, and becomes API.
export { createTail, readBounded, TRANSCRIPT_BYTES, type BoundedOutput } from "./bounded-output.ts";
export { findExitFailure, type ExitContext } from "./find-exit-failure.ts";
export { createOutputFiles, type OutputFiles } from "./output-files.ts";
export { buildSummaryPrompt, buildTurnPrompt, type PromptFiles, type PromptPaths } from "./build-turn-prompt.ts";
export type { OfferedServers, Protocol, ProtocolAnswer, ProtocolTurn } from "./protocol.ts";
export { runToEnd, type Finished } from "./run-to-end.ts";
export { TurnEvents, type TurnProgress } from "./turn-events.ts";
export type { Terminal, TerminalSize } from "../runner/runner.ts";
