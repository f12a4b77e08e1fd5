import { z } from "zod";
import { EGRESS_MODES } from "@budgie/core";
import { WORKSPACE_MODES } from "@budgie/core/policy";
import { PLAIN_NAME } from "@budgie/core/agents";
import { group, option } from "./option.ts";
import { CLUSTER_PROTECTIONS, ENGINE_PROTECTIONS, PATH, SWITCH } from "./option-values.ts";
import { PRESET_NAMES } from "@budgie/egress/allow-list";

const PROTECTIONS = [...ENGINE_PROTECTIONS, ...CLUSTER_PROTECTIONS] as const;

/** The options of sandboxes and of their network. */
export const isolationOptions = {
  ...group("Sandbox:", {
    sandbox: option(SWITCH.default(false), {
      help: "run every agent in a container of its own",
      brief: "run every agent in a container of its own",
    }),
    runner: option(z.enum(["docker", "kubernetes"], '"docker" or "kubernetes"').optional(), {
      help: "where sandboxes run: docker, as with --sandbox alone, or kubernetes; either is a sandbox",
      value: "<runner>",
    }),
    sandboxImage: option(z.string().min(1, "the name of an image").default("budgie-sandbox:latest"), {
      help: "the image of the sandbox",
      value: "<image>",
    }),
    sandboxBriefing: option(SWITCH.default(true), {
      help: "tell agents with each prompt what they can do in their sandbox",
      visibility: "file",
    }),
    commitTrailer: option(SWITCH.default(false), {
      help: "have agents' commits name the agent and the run",
      visibility: "file",
    }),
    credentials: option(
      z
        .enum(["full", "access-token", "api-key", "none"], '"full", "access-token", "api-key" or "none"')
        .default("full"),
      { help: "the part of Kiro's login that a sandbox gets: full, access-token, api-key or none", value: "<what>" },
    ),
    runtime: option(
      z
        .string()
        .regex(/^[\w.:/-]+$/, "the name of a runtime, such as runsc")
        .optional(),
      {
        help: "the engine's runtime for sandboxes, such as runsc or kata, or the cluster's RuntimeClass; its default if left out",
        value: "<name>",
      },
    ),
    acceptWeaker: option(z.array(z.enum(PROTECTIONS, `one of ${PROTECTIONS.join(", ")}`)).default([]), {
      help: "run agents though the engine lacks this: limits, seccomp or ulimits; or the cluster: policy, jail or own-node; repeatable",
      value: "<protection>",
      repeatable: "list",
    }),
    workspace: option(z.enum(WORKSPACE_MODES, '"ro", "copy" or "rw"').default("rw"), {
      help: "how agents in a sandbox get the directory that they work in: rw, ro, or copy, a copy of it, which is the default on another machine",
      value: "<mode>",
    }),
    workspacePath: option(z.enum(["/workspace", "same"], '"/workspace" or "same"').default("/workspace"), {
      help: "the path at which new sessions' sandboxes show the directory: /workspace, or the same as on this machine",
      value: "<path>",
      visibility: "file",
    }),
    copyFiles: option(z.enum(["unignored", "all", "tracked"], '"unignored", "all" or "tracked"').default("unignored"), {
      help: "the files of a copy: those that git does not ignore, and dependencies; all; or those that git tracks",
      value: "<files>",
      visibility: "file",
    }),
    copyInclude: option(z.array(z.string()).default([]), {
      help: "a pattern like those of a .gitignore: copied although git ignores it or its name is one of secrets; repeatable",
      value: "<pattern>",
      repeatable: "list",
      visibility: "file",
    }),
    copyWorktreeInclude: option(SWITCH.default(false), {
      help: "the patterns of a directory's own .worktreeinclude count like those of copyInclude",
      visibility: "file",
    }),
    copyExclude: option(z.array(z.string()).default([]), {
      help: "a pattern like those of a .gitignore: left out of copies even if git tracks it; repeatable",
      value: "<pattern>",
      repeatable: "list",
      visibility: "file",
    }),
    allowRemoteCopy: option(SWITCH.default(false), {
      help: "let an engine on another machine (ssh://, tcp://) get copies of directories, with the agents and files that a sandbox is shown",
      visibility: "file",
    }),
    protectExecutablePaths: option(SWITCH.default(false), {
      help: "with --sandbox: what the host runs by itself, such as git hooks, is read-only where it exists",
    }),
    allowMcp: option(z.array(z.string().regex(PLAIN_NAME, "the name of an MCP server")).default([]), {
      help: "an MCP server of agents' files, and for programs of settings/mcp.json: agents get all its tools, and it runs in a container that reaches no host; repeatable",
      value: "<name>",
      repeatable: "list",
    }),
  }),
  ...group("A sandbox's network:", {
    egress: option(z.enum(EGRESS_MODES, `one of ${EGRESS_MODES.join(", ")}`).optional(), {
      help:
        "how far sandboxes reach: allowlist (the default), open, none, or bridge, which is unsafe: the engine's network, " +
        "unwatched",
      value: "<mode>",
      brief: "how far a sandbox reaches: allowlist, open or none",
    }),
    allowHost: option(z.array(z.string()).optional(), {
      help: "one more host that sandboxes reach: NAME[:PORT][=ADDRESS], or *.NAME for all below it; repeatable",
      value: "<host>",
      repeatable: "list",
      brief: "one more host that a sandbox reaches",
    }),
    allowPreset: option(z.array(z.enum(PRESET_NAMES, `one of ${PRESET_NAMES.join(", ")}`)).optional(), {
      help: `the hosts that something needs: ${PRESET_NAMES.join(", ")}; repeatable`,
      value: "<name>",
      repeatable: "list",
    }),
    caFile: option(PATH.optional(), {
      help: "certificates (PEM) that sandboxes trust, where something on the way inspects TLS",
      value: "<file>",
    }),
  }),
};
