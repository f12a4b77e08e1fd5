import type { CopyChanges, CopyReport } from "../errors.ts";
import type { GitFolders } from "../policy/git-folders.ts";
import type { WorkspaceCopy } from "../runner/workspace-copy.ts";
import type { Session } from "../sessions/session.ts";

/** A base that several turns share: each that may write works on a copy, and all copies are made of the directory as it was for the first. */
export type SharedBase = {
  /** Aborts when no further copy is made of it */
  readonly over: AbortSignal;
};

/** The turn for which a copy is prepared or looked at. */
export type CopyTurn = Pick<Session, "agent" | "directory"> & {
  readonly sessionId: string;
  readonly runId: string;
  /** The git folders of a worktree or submodule, which were checked; `undefined` for none */
  readonly git?: GitFolders | undefined;
  /** Default: a base of its own */
  readonly sharedBase?: SharedBase | undefined;
  /** True to take over what changed in the directory since the copy was made */
  readonly refresh?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told from the first second on, with a few words such as `copying 1,200 of 3,400 files` */
  readonly onProgress?: ((text: string) => void) | undefined;
};

/** The copies of all sessions. */
export type WorkspaceCopies = {
  /** Fills a session's copy unless that was done, or again as the turn asks. Throws `WORKSPACE_INVALID` for a directory that cannot be copied */
  prepare(copy: WorkspaceCopy, turn: CopyTurn): Promise<CopyReport>;
  /** Collects what the session's agent changed, while none of its processes run; resolves to `undefined` if that is nothing */
  collect(copy: WorkspaceCopy, turn: CopyTurn): Promise<CopyChanges | undefined>;
};
