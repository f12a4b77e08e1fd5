import type { Agent } from "@budgie/core";
import type { AgentFolders, RemoteAgent } from "@budgie/core/agents";
import type { CopyWishes } from "@budgie/copies/selection";
import type { RetryMode, TextLimits, LimitWishes, RateLimits } from "@budgie/core/turn";
import type { ServersConfig } from "@budgie/mcp-manager/agents";
import type { Credentials, DockerRunnerOptions } from "@budgie/runner-docker";
import type { KubernetesRunnerOptions } from "@budgie/runner-kubernetes";
import type { Retention } from "@budgie/store";
import type { Settings } from "./settings.ts";
import type { NamingOptions, SoftDeadline } from "./naming-options.ts";

/** The model for agents that name none. */
export const DEFAULT_MODEL = "claude-sonnet-4.5";

/** All that a server is given, checked, with absolute paths. The program that starts it reads these from its options and files. */
export type ServerConfig = NamingOptions &
  Settings &
  Pick<AgentFolders, "agentsDir" | "promptsDir"> &
  Pick<ServersConfig, "allowMcp" | "mcp" | "mcpRegistry"> &
  TextLimits & {
    readonly systemPrompt: string;
    readonly contextSummaryPrompt: string;
    /** The agents beside Kiro's; `undefined` if there are none */
    readonly configuredAgents: readonly Agent[] | undefined;
    readonly kagent: KagentSection | undefined;
    /** True if there is a backend, also after its agents were listed */
    readonly hasBackend: boolean;
    /** The configuration file */
    readonly config?: string | undefined;

    readonly kiroBinary: string;
    readonly kiroDataDir: string;
    readonly kiroHarness: "v2" | "v3";
    readonly protocol: "cli" | "acp";
    readonly model?: string | undefined;
    readonly trustAllTools: boolean;
    /** True if the tools' descriptions say that answers are untrusted */
    readonly markUntrusted: boolean;
    readonly verbose: boolean;

    readonly sandbox: boolean;
    /** The cluster of the sandboxes; `undefined` for the container engine, and without a sandbox */
    readonly cluster?: ClusterSection | undefined;
    readonly sandboxImage: string;
    /** The tools that the sandbox's image names, once a runner knows it */
    readonly imageTools?: readonly string[] | undefined;
    /** The same for images of agents' own */
    readonly toolsOfImages?: ReadonlyMap<string, readonly string[]> | undefined;
    /** True if agents are told what they can do in their sandbox */
    readonly sandboxBriefing: boolean;
    /** True if commits of agents name agent and run */
    readonly commitTrailer: boolean;
    readonly runtime?: string | undefined;
    readonly credentials: Credentials;
    readonly acceptWeaker: NonNullable<DockerRunnerOptions["acceptWeaker"]>;
    /** The number of containers that are made ahead */
    readonly ahead: number;
    readonly caFile?: string | undefined;
    readonly protectExecutablePaths: boolean;
    /** The wishes for copies of workspaces */
    readonly copyFiles: CopyWishes["files"];
    readonly copyInclude: CopyWishes["include"];
    readonly copyWorktreeInclude: CopyWishes["worktreeInclude"];
    readonly copyExclude: CopyWishes["exclude"];
    /** True if copies may go to an engine elsewhere */
    readonly allowRemoteCopy: boolean;
    /** Empty allows every directory */
    readonly allowRoot: readonly string[];

    /** The program and arguments of the command that is told of turns; `undefined` if there is none */
    readonly notify: readonly string[] | undefined;

    readonly stateDir: string;
    readonly sessionsDir: string;
    readonly keepSessions: boolean;
    readonly stickySessions: boolean;
    readonly sessionTtlMs: number;
    readonly keepAnswers: boolean;
    readonly keepTranscripts: boolean;
    readonly retention: Retention;
    /** `person`: clients cannot apply the changes of an agent's copy */
    readonly apply: "ask" | "caller" | "person";
    readonly keepChangesMs: number;
    /** 0 disables the sweep */
    readonly sweepEveryMs: number;

    readonly retry: RetryMode;
    readonly turnLimits: LimitWishes;
    /** The most agents that one call runs; 0 offers no such call */
    readonly maxParallel: number;
    readonly maxTurnsPerMinute: RateLimits;
    readonly maxDepth?: number | undefined;
    /** 0 if no process lives longer than its turn */
    readonly warmIdleMs: number;
    readonly softDeadline: SoftDeadline;
    readonly heartbeatMs: number;

    readonly transport: "stdio" | "http";
    readonly httpTokenFile?: string | undefined;
  };

/** The cluster on which sandboxes run. */
export type ClusterSection = Pick<KubernetesRunnerOptions, "closeMs" | "context" | "kubeconfig" | "namespace"> & {
  /** The sandboxes' image, which only the user can name: a cluster has none by default; `undefined` if nobody did */
  readonly image: string | undefined;
  /** Budgie's own image; `undefined` if nobody named it */
  readonly sidecarImage: string | undefined;
  readonly acceptWeaker: NonNullable<KubernetesRunnerOptions["acceptWeaker"]>;
  /** Ports of a sandbox to which its own programs may connect */
  readonly ports: readonly number[];
  readonly waitMs: number;
};

/** A kagent backend, whose agents are tools as they come and go. */
export type KagentSection = Pick<RemoteAgent, "url" | "headers" | "allowRemote">;
