import { posix } from "node:path";
import type Docker from "dockerode";
import { foldersOf } from "@budgie/sandbox/home";
import { SANDBOX, type SandboxUser } from "@budgie/sandbox/profile";
import { hasBits, MODE, readPathFacts } from "../container-files/path-facts.ts";

export type ProgramQuestion = {
  /** A name, or an absolute path */
  readonly program: string;
  /** The image's `PATH` */
  readonly path: string;
  readonly user: SandboxUser;
};

/**
 * Finds the file that a sandbox would execute for a program's name. Throws if there is none, or if an agent could replace it.
 * It asks the engine about files of a container that never starts, so no program of the image runs.
 */
export async function findProgram(container: Docker.Container, question: ProgramQuestion): Promise<string> {
  const { user } = question;
  let unusable: Error | undefined;
  for (const candidate of listCandidates(question)) {
    const file = isAgents(candidate) ? undefined : await follow(container, candidate);
    if (file === undefined || isAgents(file.path)) throw planted(question, candidate);
    // A shell continues with the next folder of the PATH.
    if (!isExecutable(file.mode)) continue;
    const closed = await findClosed(container, [candidate, file.path], user);
    if (closed === undefined) return candidate;
    unusable ??= new Error(
      `"${candidate}" of the image cannot be run by uid ${user.uid}, which has no access to "${closed}". Run "chmod -R a+rX" on it when you build the image.`,
    );
  }
  throw unusable ?? missing(question);
}

function listCandidates({ path, program }: ProgramQuestion): readonly string[] {
  return program.includes("/") ? [program] : path.split(":").map((folder) => posix.join(folder, program));
}

function missing({ path, program }: ProgramQuestion): Error {
  const where = program.includes("/") ? "" : ` on its PATH, ${path}`;
  return new Error(`The image has no "${program}"${where}.`);
}

// Agents or repositories fill these mounts, which hide the image's own files.
const OTHERS = [SANDBOX.workspace, SANDBOX.auth, "/home", "/tmp", "/var/tmp"];

function isAgents(path: string): boolean {
  const plain = posix.normalize(path);
  return !plain.startsWith("/") || OTHERS.some((folder) => plain === folder || plain.startsWith(`${folder}/`));
}

function planted({ program }: ProgramQuestion, candidate: string): Error {
  return new Error(
    `The image's PATH or a link makes "${candidate}" the program, where agents or repositories can put a "${posix.basename(program)}" ` +
      `of their own. Keep it in a folder such as /usr/local/bin, and none of theirs on the PATH before that.`,
  );
}

function isExecutable(mode: number | undefined): boolean {
  return mode !== undefined && !hasBits(mode, MODE.notPlain) && (mode & 0o111) !== 0;
}

/**
 * Finds the first folder on the way to a file, or the file itself, that the user may not enter or execute. Root may, since the image's
 * files belong to root.
 */
async function findClosed(
  container: Docker.Container,
  names: readonly string[],
  { uid }: SandboxUser,
): Promise<string | undefined> {
  if (uid === 0) return undefined;
  for (const path of new Set(names.flatMap((name) => [...foldersOf(name), name]))) {
    const { mode } = await follow(container, path);
    if (mode !== undefined && (mode & 0o001) === 0) return path;
  }
  return undefined;
}

type Followed = { readonly path: string; readonly mode: number | undefined };

/** Resolves a path; engines follow a chain of symlinks themselves. */
async function follow(container: Docker.Container, path: string): Promise<Followed> {
  const facts = await readPathFacts(container, path);
  if (facts === undefined || !hasBits(facts.mode, MODE.link)) return { path, mode: facts?.mode };
  const target = await readPathFacts(container, facts.linkTarget);
  return { path: facts.linkTarget, mode: target?.mode };
}
