import type { Side } from "../sets/change-set.ts";

/** One entry to write or remove, in the order in which that is done. */
export type Step =
  | { readonly op: "aside"; readonly path: string; readonly before: Side }
  | {
      readonly op: "rmdir";
      readonly path: string;
      /** Permission bits, to make it again */
      readonly mode: number;
      /** True if something else comes in its place, so that it has to be empty */
      readonly mustGo: boolean;
    }
  | {
      readonly op: "mkdir";
      readonly path: string;
      readonly mode?: number;
      /** Device and inode, once it is staged */
      readonly identity?: string;
    }
  | {
      readonly op: "write";
      readonly path: string;
      /** The entry that it replaces */
      readonly before?: Side;
      readonly after: Side;
      /** Permission bits; default those of a new file */
      readonly mode?: number;
      /** Group; default that of a new file */
      readonly gid?: number;
    };

/** The steps of an apply, and the folder in which their contents wait. */
export type ApplyPlan = {
  /** Name of the folder in the directory */
  readonly stage: string;
  readonly steps: readonly Step[];
};

/** An error that says which path could not be written, because it is not as it was planned. */
export type ConflictError = Error & { readonly conflict: { readonly path: string; readonly why: string } };

/** Returns the error of a path that changed while an apply was under way. */
export function conflictError(path: string, why: string): ConflictError {
  return Object.assign(new Error(`"${path}": ${why}`), { conflict: { path, why } });
}

/** Returns the name under which a step's new file is created beside the one that it replaces, on its way into the stage. */
export function toNearName(stage: string, number: number): string {
  return `${stage}-${number}`;
}

/** Returns the names of a step's entries in the stage: the new one, the one moved aside, and one that is taken away again. */
export function toStageNames(number: number): { readonly fresh: string; readonly old: string; readonly away: string } {
  return { fresh: `n${number}`, old: `o${number}`, away: `r${number}` };
}
