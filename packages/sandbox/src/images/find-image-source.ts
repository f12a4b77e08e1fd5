import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { ImageApproval } from "./image-approval.ts";
import { judgeDockerfile } from "./judge-dockerfile.ts";
import { listBases } from "./list-bases.ts";
import { parseDevcontainer, type Devcontainer } from "./parse-devcontainer.ts";
import { readInputs, type InputFile } from "./read-inputs.ts";

/** The image that a project's own files ask for, read without running or following anything. */
export type ImageSource = Readonly<Pick<ImageApproval, "directory">> & {
  /** The file that says it, relative to the directory */
  readonly file: string;
  /** The Dockerfile as it would be built */
  readonly dockerfile: string;
  /** The Dockerfile's path in the context */
  readonly name: string;
  /** Everything that COPY and ADD can reach, the Dockerfile included */
  readonly context: readonly InputFile[];
  readonly args: Readonly<Record<string, string>>;
  readonly target: string | undefined;
  /** The names of the images that it is built on */
  readonly bases: readonly string[];
  /** The keys that do nothing */
  readonly ignored: readonly string[];
  /** The reasons why it is not built; empty if it may be allowed */
  readonly refused: readonly string[];
  /** The SHA-256, in hexadecimal digits, over the directory and all that is built from */
  readonly key: string;
};

const DEVCONTAINER = ".devcontainer/devcontainer.json";

/** Finds the image that the files of a directory ask for, by its real path; `undefined` if they ask for none. Reads at most a few MiB. */
export function findImageSource(directory: string): ImageSource | undefined {
  return findFirst(
    () => fromFolder(directory, ".budgie", "Dockerfile"),
    () => fromFile(directory, "Dockerfile.sandbox"),
    () => fromDevcontainer(directory),
  );
}

type Found = Omit<ImageSource, "directory" | "key">;

function findFirst(...finders: readonly (() => ImageSource | undefined)[]): ImageSource | undefined {
  for (const find of finders) {
    const found = find();
    if (found !== undefined) return found;
  }
  return undefined;
}

function fromFolder(directory: string, folder: string, name: string): ImageSource | undefined {
  const file = `${folder}/${name}`;
  return orRefused(directory, file, () => {
    // The whole folder is read only if it has the file.
    if (readInputs(directory, folder, name) === undefined) return undefined;
    return toFound({ file, name, context: readInputs(directory, folder) ?? [] });
  });
}

function fromFile(directory: string, file: string): ImageSource | undefined {
  return orRefused(directory, file, () => {
    const context = readInputs(directory, ".", file);
    return context && toFound({ file, name: file, context });
  });
}

function fromDevcontainer(directory: string): ImageSource | undefined {
  const [folder = "", name = ""] = DEVCONTAINER.split("/");
  return orRefused(directory, DEVCONTAINER, () => {
    const [own] = readInputs(directory, folder, name) ?? [];
    if (own === undefined) return undefined;
    const container = parseDevcontainer(own.bytes.toString("utf8"));
    const { dockerfile, image } = container;
    const { ignored, refused } = container;
    if (refused.length > 0) return { ...EMPTY, file: DEVCONTAINER, context: [own], ignored, refused };
    if (dockerfile !== undefined) {
      const context = readInputs(directory, folder) ?? [];
      return toFound({ file: DEVCONTAINER, name: dockerfile, context, container });
    }
    // Settings of an editor alone ask for no image.
    if (image === undefined) return undefined;
    const made = { path: "Dockerfile", bytes: Buffer.from(`FROM ${image}\n`), isExecutable: false };
    return toFound({ file: DEVCONTAINER, name: made.path, context: [made], container });
  });
}

const EMPTY = { dockerfile: "", name: "", context: [], args: {}, target: undefined, bases: [], ignored: [] };

type Given = Pick<Found, "context" | "file" | "name"> & { readonly container?: Devcontainer };

function toFound({ container, context, file, name }: Given): Found {
  const { args = {}, ignored = [], target } = container ?? {};
  const dockerfile = context.find(({ path }) => path === posix.normalize(name))?.bytes.toString("utf8");
  const { names: bases, refused } = dockerfile === undefined ? noFile(name) : judge(dockerfile, args);
  return { file, name, context, args, target, bases, ignored, refused, dockerfile: dockerfile ?? "" };
}

function noFile(name: string) {
  return { names: [], refused: [`there is no ${JSON.stringify(name)} beside it`] };
}

function judge(dockerfile: string, args: Found["args"]) {
  const refused = judgeDockerfile(dockerfile);
  // The bases are not known of one that reads differently than it looks.
  return refused.length > 0 ? { names: [], refused } : listBases(dockerfile, args);
}

/** Adds the key. What cannot be read safely is refused, and no other file takes its place. */
function orRefused(directory: string, file: string, find: () => Found | undefined): ImageSource | undefined {
  try {
    const found = find();
    return found && { ...found, directory, key: hash(directory, found) };
  } catch (error) {
    const found = { ...EMPTY, file, refused: [`its folder ${(error as Error).message}`] };
    return { ...found, directory, key: hash(directory, found) };
  }
}

function hash(directory: string, { args, context, file, name, refused, target }: Found): string {
  const files = context.map(({ bytes, isExecutable, path }) => [path, isExecutable, sha256(bytes)]);
  const sorted = Object.entries(args).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sha256(Buffer.from(JSON.stringify([1, directory, file, name, target ?? null, sorted, files, refused])));
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
