import type { Command } from "@budgie/core";
import type { UsageReport } from "@budgie/core/runs";
import type { KiroRequest } from "../../kiro/v3/custom-agent.ts";

/** The answer to an agent that asks for permission to use a tool. The container confines the agent, not this policy. */
export type PermissionPolicy = "allow" | "deny";

/** A program that speaks ACP on its stdin and stdout. */
export type AcpProgram = {
  readonly command: Command;
  readonly permission: PermissionPolicy;
  /** The model to ask for; `undefined` leaves the choice to the program */
  readonly model?: string | undefined;
  /** The basis of the tokens in its answer to a prompt; default that of a known program */
  readonly tokenBasis?: UsageReport["basis"] | undefined;
  /** The mode that a session must be in, such as the name of Kiro's agent; default any */
  readonly mode?: string | undefined;
  /** The harness of Kiro that must answer; left out for other programs */
  readonly kiro?: KiroRequest | undefined;
};
