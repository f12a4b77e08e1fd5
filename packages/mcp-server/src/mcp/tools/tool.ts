import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import type { Policies } from "../../config/agent-policies.ts";
import type { NamingOptions } from "../../config/tool-options.ts";

/** A tool: its definition for clients, and its purpose. */
export type Tool = {
  readonly definition: Definition;
  /** Other names that calls may use */
  readonly aliases: readonly string[];
  readonly purpose: Purpose;
};

/** The purpose of a tool. */
type Purpose =
  | { readonly kind: "agent"; readonly agent: Agent }
  | { readonly kind: "health-check" }
  | { readonly kind: "list-agents"; readonly agents: readonly Agent[] }
  | { readonly kind: "invoke-agent" };

export type ToolOptions = NamingOptions & {
  /** `true` if descriptions say that answers are untrusted */
  readonly markUntrusted: boolean;
  readonly policies: Policies;
  readonly sandbox: boolean;
  /** `true` if calls without a session id may resume the last session */
  readonly stickySessions: boolean;
};
