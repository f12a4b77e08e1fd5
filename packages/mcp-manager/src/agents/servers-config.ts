import type { EgressMode } from "@budgie/core";
import type { AgentFolders } from "@budgie/core/agents";
import type { UpstreamOptions } from "@budgie/egress";
import type { PresetName } from "@budgie/egress/allow-list";

/** The user's decisions on agents' MCP servers, and the parts of this machine that servers may see. */
export type ServersConfig = AgentFolders & {
  /** The MCP servers that agents' sections allow, by agent and by name */
  readonly mcp: ReadonlyMap<string, ReadonlyMap<string, McpSection>>;
  /** The MCP servers that all agents may have */
  readonly allowMcp: readonly string[];
  /** The file of a registry of MCP servers */
  readonly mcpRegistry: string | undefined;
  readonly kiroHarness: "v2" | "v3";
  readonly trustAllTools: boolean;
  readonly sandbox: boolean;
  /** True if sandboxes run on a cluster, where no server has a container of its own */
  readonly isOnCluster: boolean;

  readonly stateDir: string;
  /** The file of the user's own servers, which agents' files may include */
  readonly settingsFile: string;
  /** The words by which a command finds the same entries and state */
  readonly commandOptions: readonly string[];
  /** The version of budgie, as servers and agents are told it */
  readonly version: string;

  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** The proxy of this machine, if it has one */
  readonly upstream: UpstreamOptions | undefined;
  /** Tells the user one line */
  readonly report: (line: string) => void;
};

/** The limits of one MCP server, as an agent's section has them. */
export type McpSection = McpServerLimits &
  (
    | ({ readonly run?: "sandbox" | undefined; readonly image?: string | undefined } & McpServerHosts)
    | { readonly run: "host" }
  );

type McpServerLimits = {
  /** The tools that may be called; all by default */
  readonly tools?: readonly string[] | undefined;
  /** Names of variables that its entry may use */
  readonly env: readonly string[];
  /** True if all sessions use one instance */
  readonly shared?: boolean | undefined;
  /** The hash of the approved tools */
  readonly toolsHash?: string | undefined;
  readonly refuseOtherTools?: boolean | undefined;
};

type McpServerHosts = {
  readonly egress?: EgressMode | undefined;
  readonly allowHost?: readonly string[] | undefined;
  readonly allowPreset?: readonly PresetName[] | undefined;
};
