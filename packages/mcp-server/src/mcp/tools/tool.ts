import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import type { Policies } from "../../config/refuse-unknown-agents.ts";
import type { NamingOptions } from "../../config/naming-options.ts";
import type { Settings } from "../../config/settings.ts";
import type { buildParallelInput } from "./parse-tool-input.ts";

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
  | { readonly kind: "list-agents"; readonly agents: readonly ListedAgent[] }
  | { readonly kind: "invoke-agent" }
  | {
      readonly kind: "invoke-parallel";
      readonly input: ReturnType<typeof buildParallelInput>;
      /** The session id that begins a new session, if leaving it out does not */
      readonly newSession?: string | undefined;
    };

/** An agent in the list of `list_agents`. */
export type ListedAgent = Pick<Agent, "name" | "description" | "whenToUse"> & {
  /** The sentences on its sandbox; empty or left out without one */
  readonly sandbox?: string;
};

export type ToolOptions = NamingOptions & {
  /** `true` if descriptions say that answers are untrusted */
  readonly markUntrusted: boolean;
  readonly policies: Policies;
  readonly sandbox: boolean;
  /** The tools that the sandbox's image names; default none */
  readonly imageTools?: readonly string[] | undefined;
  /** The same for images of agents' own; default none */
  readonly toolsOfImages?: ReadonlyMap<string, readonly string[]> | undefined;
  /** `true` if calls without a session id may resume the last session */
  readonly stickySessions: boolean;
  /** The most agents that one call runs; 0 or left out offers no such call */
  readonly maxParallel?: number | undefined;
  /** Default none */
  readonly workspaces?: Settings["workspaces"];
};
