import { posix } from "node:path";
import type Docker from "dockerode";
import { SANDBOX } from "../sandbox/container-options.ts";
import { foldersOf, hasBits, MODE, readPathFacts } from "../container-files/path-stat.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";

export type ProgramQuestion = {
  /** A name, or an absolute path */
  readonly program: string;
  /** The image's `PATH` */
  readonly path: string;
  readonly user: SandboxUser;
};

/**
 * Finds what a sandbox would run for a program's name, or throws saying why it would run nothing, or something of an agent's
 * own. It asks about files of a container that never starts: nothing of the image runs, with however few rights.
 */
export async function findProgram(container: Docker.Container, question: ProgramQuestion): Promise<string> {
  const { user } = question;
  let unusable: Error | undefined;
  for (const candidate of toCandidates(question)) {
    const file = isAgents(candidate) ? undefined : await follow(container, candidate);
    if (file === undefined || isAgents(file.path)) throw planted(question, candidate);
    // A shell would go on to the next folder.
    if (!isExecutable(file.mode)) continue;
    const closed = await findClosed(container, [candidate, file.path], user);
    if (closed === undefined) return candidate;
    unusable ??= new Error(
      `"${candidate}" of the image is of no use to uid ${user.uid}, which may not pass "${closed}". Run "chmod -R a+rX" on it when you build the image.`,
    );
  }
  throw unusable ?? missing(question);
}

function toCandidates({ path, program }: ProgramQuestion): readonly string[] {
  return program.includes("/") ? [program] : path.split(":").map((folder) => posix.join(folder, program));
}

function missing({ path, program }: ProgramQuestion): Error {
  const where = program.includes("/") ? "" : ` on its PATH, ${path}`;
  return new Error(`The image has no "${program}"${where}.`);
}

// What is mounted there, an agent or a repository fills; what the image has there, nobody sees.
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

/** What bars the way to a file, or the file itself. Root passes all that is root's, as an image's files are. */
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

/** What a path is in the end; engines follow a link's links themselves. */
async function follow(container: Docker.Container, path: string): Promise<Followed> {
  const facts = await readPathFacts(container, path);
  if (facts === undefined || !hasBits(facts.mode, MODE.link)) return { path, mode: facts?.mode };
  const target = await readPathFacts(container, facts.linkTarget);
  return { path: facts.linkTarget, mode: target?.mode };
}
