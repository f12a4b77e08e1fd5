import { z } from "zod";
import { configSchema } from "../options/config-schema.ts";
import { CACHE_TOOLS } from "@budgie/core/policy";
import { AGENT_NAME } from "@budgie/core/agents";
import { budget, env, hosts, image, limits, restrictions } from "./section-keys.ts";

const agentInWorkspace = z.strictObject(
  {
    image: image.describe("the image of its sandbox in that directory"),
    env: env.describe("its variables in that directory, by name: a text, or $NAME for a variable of budgie's"),
    ...restrictions,
  },
  "an object",
);

const SERVICE_NAME = /^(?!localhost$)[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const MOST_SERVICES = 8;

const words = z.array(z.string(), "a list of words");

const service = z.strictObject(
  {
    image: z.string("the name of an image").min(1).describe("its image, which must be on the engine"),
    port: z.int("a port").min(1).max(65_535).describe("the port on which it listens"),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/), z.string("a text"), "an object of texts")
      .default({})
      .describe("its variables, which everybody with access to the engine can read"),
    command: words.optional().describe("in place of the image's command"),
    ready: words
      .min(1)
      .optional()
      .describe("a command in its container that succeeds once it can be used; by default it is not waited for"),
  },
  "an object",
);

const MOST_MOUNTS = 16;

// A path relative to the file would name another thing once the file moves.
const mountPath = z.string("a path").regex(/^(?:\/|~\/)[^\0]*$/, "an absolute path, or one that begins with ~/");

const workspacePath = configSchema.shape.workspacePath.unwrap();

/** The section of a directory. */
export type WorkspaceSection = z.infer<typeof workspaceSection>;

const workspaceSection = z.strictObject(
  {
    image: image.describe("the image of all sandboxes there, which has the agents' programs too"),
    requireImage: z
      .boolean("true or false")
      .optional()
      .describe(
        "true: calls there fail unless they run in the image that the project's files ask for, as it was allowed",
      ),
    env: env.describe("variables of all agents there, by name: a text, or $NAME for a variable of budgie's"),
    workspacePath: workspacePath
      .optional()
      .describe("the path at which new sessions' sandboxes show the directory there"),
    subfolderGit: z
      .boolean("true or false")
      .optional()
      .describe(
        "true: a part of a repository there has its own path, and a git of the session's own, which shows the agent all that was committed",
      ),
    mounts: z
      .array(mountPath, "a list of paths")
      .max(MOST_MOUNTS, `at most ${MOST_MOUNTS} paths`)
      .optional()
      .describe("files and folders of this machine that sandboxes there also show, read-only and at the same path"),
    cache: z
      .array(z.enum(CACHE_TOOLS, `one of ${CACHE_TOOLS.join(", ")}`), `a list of ${CACHE_TOOLS.join(", ")}`)
      .optional()
      .describe("the tools whose downloads later sessions there find again"),
    services: z
      .record(z.string().regex(SERVICE_NAME), service, {
        error: ({ code }) => (code === "invalid_key" ? "a name of small letters, digits and dashes" : "an object"),
      })
      .refine((all) => Object.keys(all).length <= MOST_SERVICES, `at most ${MOST_SERVICES} services`)
      .optional()
      .describe(
        "programs beside the sandboxes of each session there, such as a database, by the name at which they are reached",
      ),
    budget: budget.describe("the most that all agents together may use there, beside what all may"),
    limits: limits.optional().describe("the limits there, higher or lower than those of all"),
    allowHost: hosts.allowHost.describe("more hosts that sandboxes reach there"),
    allowPreset: hosts.allowPreset.describe("more hosts that sandboxes reach there, by what needs them"),
    agents: z
      .record(z.string().regex(AGENT_NAME), agentInWorkspace, {
        error: ({ code }) => (code === "invalid_key" ? "the name of an agent" : "an object"),
      })
      .default({})
      .describe("single agents there, by name: what they may do, which can only be less"),
  },
  "an object",
);

/** The schema of the sections of directories. */
export const workspaceSections = z
  .record(z.string().min(1), workspaceSection, "an object of directories")
  .default({})
  .describe(
    "single directories, with all below them, by path: what agents get and may do there. The longest path counts",
  );
