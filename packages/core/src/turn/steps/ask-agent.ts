import { findProtectablePaths } from "../../changes/find-protectable-paths.ts";
import type { GitFolders } from "../../policy/git-folders.ts";
import { nestingVariables, rootVariables, type Nesting } from "../../policy/nesting.ts";
import { usesCopy } from "../../workspace-access.ts";
import type { AgentProcess, Command, Exit, Projection } from "../../runner/runner.ts";
import type { SandboxFacts } from "../../runs/run-log.ts";
import type { Session } from "../../sessions/session.ts";
import type { Provided, TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";
import { withBriefing } from "../with-briefing.ts";

type Settings = Pick<TurnSettings, "briefs" | "nesting" | "protectExecutablePaths" | "providedFor">;

/** Asks the agent, by the protocol of its program. This is the last step. */
export function askAgent(settings: Settings): Step {
  return async (turn) => {
    const { events, offered, request, session, shown, signal } = turn;
    const { agent, directory, policy } = request;
    const provided = settings.providedFor(agent, directory, turn.id);
    const { runner } = turn.route;
    // No process waits for it.
    if (runner.isolation === "remote") await Promise.all(turn.ready);
    const { copy } = turn.report;
    const prompt = settings.briefs ? await withBriefing(request, runner, { ...provided, copy }) : request.prompt;
    return turn.route.protocol({
      agent: shown === undefined ? agent : { ...agent, shown },
      session: runner.isolation === "remote" ? beginWithFile(turn) : startWithPolicy(turn, { ...settings, provided }),
      directory,
      prompt,
      resume: session.begun,
      timeoutMs: policy.timeoutMs,
      signal,
      events,
      offered,
    });
  };
}

/**
 * Wraps the home of a session whose agent runs elsewhere. Such a session has begun once the id of its conversation is written to the home.
 */
function beginWithFile(turn: Turn): Session["home"] {
  const { session } = turn;
  turn.enter({ phase: "running", attempt: turn.attempts });
  return {
    ...session.home,
    async appendFile(name, text) {
      await session.home.appendFile(name, text);
      session.begin();
    },
  };
}

/** Wraps the session's home so that every process starts with the policy, and is recorded when it runs. */
function startWithPolicy(turn: Turn, settings: Settings & { readonly provided: Provided }): Session["home"] {
  const { events, processes, session } = turn;
  const { workspacePath } = session;
  const { provided } = settings;
  const { agent, directory, policy } = turn.request;
  const { egress, limits, workspace } = policy;
  const { cache, commitHooks, isShortLogin, mounts = [], project, services, withheld = [] } = provided;
  turn.report.image = project;
  const shown = mounts.map((source): Projection => ({ source, home: undefined, isRequired: true }));
  const hooks: readonly Projection[] = commitHooks === undefined ? [] : [{ source: commitHooks, home: undefined }];
  const ready = Promise.all(turn.ready);
  return {
    ...session.home,
    paths: () => session.home.paths(directory, workspacePath),
    async start({ env, ...command }, options) {
      const isCopy = usesCopy(workspace);
      const protects = settings.protectExecutablePaths && !isCopy;
      const protectedPaths = protects ? await findProtectablePaths(options.directory) : [];
      const access = { workspace, egress, limits };
      const image = provided.image ?? command.image;
      turn.sandbox = findSandbox(turn, { ...provided, image }, command);
      const own = Object.entries(env).filter(([name]) => !withheld.includes(name));
      // A copy has its own.
      const git = isCopy ? undefined : turn.git.folders;
      const all = {
        ...toGitVariables(git),
        ...provided.env,
        ...Object.fromEntries(own),
        ...toMarks(turn, settings.nesting),
      };
      const projections = [...command.projections, ...shown, ...hooks];
      const marked = { ...command, projections, image, needsPrograms: true, cache, services, isShortLogin, env: all };
      // A process that gets all its input at its start has nothing to wait for. Protected paths would have to hold between turns too.
      // A copy is read after each turn, when no process may run on it.
      const isOnce =
        options.input !== undefined || settings.protectExecutablePaths || isCopy || commitHooks !== undefined;
      const standbyKey = isOnce ? undefined : [agent, marked.env, options.standbyKey];
      const child = await session.home.start(marked, {
        ...options,
        workspacePath,
        ready,
        protectedPaths,
        access,
        standbyKey,
        git,
      });
      processes.push(child);
      followExit(child, (exit) => void (processes.at(-1) === child && events.emit("exit", exit)));
      session.begin();
      turn.enter({ phase: "running", attempt: turn.attempts });
      return child;
    },
  };
}

function findSandbox(
  { route: { runner } }: Turn,
  { credentials, image, isShortLogin }: Provided,
  { login }: Pick<Command, "login">,
): SandboxFacts | undefined {
  if (runner.isolation !== "container") return undefined;
  const mode = isShortLogin === true ? "access-token" : credentials;
  return { image: image ?? runner.imageId, ...(login === undefined ? {} : { credentials: mode }) };
}

/** Creates the variable by which git looks upwards from a mount for the repository around it. */
function toGitVariables(git: GitFolders | undefined): Readonly<Record<string, string>> {
  return git?.around === undefined ? {} : { GIT_DISCOVERY_ACROSS_FILESYSTEM: "1" };
}

/** Creates the variables by which a budgie that the agent starts knows its nesting. Only without a sandbox does it share this one's state. */
function toMarks({ route, session }: Turn, nesting: Nesting): Readonly<Record<string, string>> {
  const isShared = route.runner.isolation === "none";
  return { ...nestingVariables(nesting), ...(isShared ? rootVariables(nesting, session.id) : {}) };
}

// One listener for each process: a listener keeps its turn in memory until the process ends.
const exitListeners = new WeakMap<AgentProcess, (exit: Exit) => void>();

/** Calls a function with the exit of a process, instead of the function from the process's last turn. */
function followExit(child: AgentProcess, listener: (exit: Exit) => void): void {
  // The caller sees the same rejection; this only avoids an unhandled one.
  if (!exitListeners.has(child)) child.exit.then((exit) => exitListeners.get(child)?.(exit)).catch(() => undefined);
  exitListeners.set(child, listener);
}
