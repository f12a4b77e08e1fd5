import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import type { Policies } from "../../config/agent-policies.ts";
import type { NamingOptions } from "../../config/tool-options.ts";

/** A tool as a client gets it, and what it is for. */
export type Tool = {
  readonly definition: Definition;
  /** Other names that it can be called by */
  readonly aliases: readonly string[];
  readonly purpose: Purpose;
};

/** What a tool is for. */
type Purpose =
  | { readonly kind: "agent"; readonly agent: Agent }
  | { readonly kind: "health-check" }
  | { readonly kind: "list-agents"; readonly agents: readonly Agent[] }
  | { readonly kind: "invoke-agent" };

export type ToolOptions = NamingOptions & {
  /** Whether descriptions say that answers are untrusted */
  readonly markUntrusted: boolean;
  readonly policies: Policies;
  readonly sandbox: boolean;
  /** Whether calls that name no session may go on with one */
  readonly stickySessions: boolean;
};
