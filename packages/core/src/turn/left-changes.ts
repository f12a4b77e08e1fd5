import { watchExecutablePaths, type ExecutableState, type WatchDirectory } from "../changes/watch-executable-paths.ts";
import type { AgentProcess } from "../runner/runner.ts";
import type { Session } from "../sessions/session.ts";

/** A process that lives on after its turn, and the state of the turn's directory at its end. */
type LeftProcess = { readonly process: AgentProcess; readonly state: ExecutableState };

/** A session whose last turn left a process. */
type Followed = { readonly session: Session; readonly state: ExecutableState };

/** The changes that a process made between its last turn and its end. */
export type LeftChanges = Pick<Session, "agent" | "directory"> & { readonly paths: readonly string[] };

/** Compares the directories of processes that live on after their turns. */
export type LeftWatch = {
  /** Looks at the directory once more when the process ends, unless a turn of the session resumes before. */
  readonly follow: (session: Session, left: LeftProcess) => void;
  /** Returns the state of the directory since which a turn of this session must look; `undefined` if the last one left no process */
  readonly resume: (session: Session) => ExecutableState | undefined;
  /** Returns the changes in a directory that no result has told, and forgets them. */
  readonly take: (directory: string) => Promise<readonly LeftChanges[]>;
  /** Lists the changes that no result has told. */
  readonly list: () => readonly LeftChanges[];
  /** Resolves when the processes that have ended are compared. */
  readonly settled: () => Promise<void>;
};

const MOST = 64;

/** Creates a watch that follows no process yet. `report` is called with changes when they are found. */
export function createLeftWatch(
  report: (changes: LeftChanges) => void = () => undefined,
  watch: WatchDirectory = watchExecutablePaths,
): LeftWatch {
  // Sessions by their last turns, the oldest first.
  const followed = new Map<string, Followed>();
  const comparing = new Map<Promise<void>, string>();
  let found: readonly LeftChanges[] = [];

  async function compare(left: Followed): Promise<void> {
    const { session, state } = left;
    const { agent, directory, id } = session;
    const { changedExecutablePaths: paths, state: now = state } = await watch(
      directory,
      undefined,
      state,
    ).findChanges();
    // A turn of the session that began meanwhile finds the same.
    if (followed.get(id) !== left) return;
    followed.set(id, { session, state: now });
    if (paths.length === 0) return;
    const changes = { agent, directory, paths };
    found = [...found, changes].slice(-MOST);
    report(changes);
  }

  return {
    follow(session, { process, state }) {
      const left = { session, state };
      followed.delete(session.id);
      followed.set(session.id, left);
      const [oldest] = followed.keys();
      if (followed.size > MOST && oldest !== undefined) followed.delete(oldest);
      const end = (): void => {
        if (followed.get(session.id) !== left) return;
        // A workspace that cannot be read any more has nothing to tell.
        const compared = compare(left).catch(() => undefined);
        comparing.set(compared, session.directory);
        void compared.then(() => comparing.delete(compared));
      };
      process.exit.then(end, end);
    },
    resume({ id }) {
      const { state } = followed.get(id) ?? {};
      followed.delete(id);
      return state;
    },
    async take(directory) {
      await Promise.all([...comparing].filter(([, of]) => of === directory).map(([compared]) => compared));
      const taken = found.filter((changes) => changes.directory === directory);
      found = found.filter((changes) => changes.directory !== directory);
      return taken;
    },
    list: () => found,
    async settled() {
      await Promise.all(comparing.keys());
    },
  };
}

const MOST_NAMED = 10;

/** Returns a sentence about changes that a process made after its last turn. */
export function formatLeft({ agent, paths }: LeftChanges): string {
  const named = paths.slice(0, MOST_NAMED).map((path) => JSON.stringify(path));
  const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : "";
  return `A process of the agent "${agent}" changed files that this machine runs by itself, after its last turn had ended: ${named.join(", ")}${more}.`;
}
