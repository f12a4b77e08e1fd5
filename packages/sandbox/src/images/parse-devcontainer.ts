import { posix } from "node:path";
import { z } from "zod";
import { parseJsonc } from "@budgie/core/text";

/** The part of a `devcontainer.json` that says of what an image is built. */
export type Devcontainer = {
  /** A Dockerfile in its folder, or the name of an image; `undefined` if neither is named */
  readonly dockerfile: string | undefined;
  readonly image: string | undefined;
  readonly args: Readonly<Record<string, string>>;
  readonly target: string | undefined;
  /** The keys that do nothing here, sorted */
  readonly ignored: readonly string[];
  /** The reasons why nothing is built of it */
  readonly refused: readonly string[];
};

const schema = z.looseObject({
  image: z.string().optional(),
  dockerFile: z.unknown().optional(),
  context: z.unknown().optional(),
  features: z.unknown().optional(),
  build: z
    .looseObject({
      dockerfile: z.string().optional(),
      context: z.string().optional(),
      args: z.record(z.string(), z.string()).optional(),
      target: z.string().optional(),
      options: z.unknown().optional(),
      cacheFrom: z.unknown().optional(),
    })
    .default({}),
});

type Content = z.infer<typeof schema>;

const LARGEST_CHARACTERS = 64 * 2 ** 10;

const READ: ReadonlySet<string> = new Set(["$schema", "build", "context", "dockerFile", "features", "image", "name"]);

/** Parses a `devcontainer.json`. Commands, arguments of the engine, mounts and settings in it are never read, only their names are kept. */
export function parseDevcontainer(text: string): Devcontainer {
  if (text.length > LARGEST_CHARACTERS) return nothing("it is larger than 64 KiB");
  let parsed: unknown;
  try {
    parsed = parseJsonc(text);
  } catch (error) {
    return nothing((error as Error).message);
  }
  const { data, error } = schema.safeParse(parsed);
  return data === undefined
    ? nothing(`"${error.issues[0]?.path.join(".") ?? ""}" is not as a devcontainer.json has it`)
    : toDevcontainer(data);
}

function toDevcontainer(data: Content): Devcontainer {
  const { build, image } = data;
  const dockerfile = findDockerfile(data);
  const unread = Object.keys(data).filter((key) => !READ.has(key));
  return {
    dockerfile: typeof dockerfile === "string" ? posix.normalize(dockerfile) : undefined,
    image,
    args: build.args ?? {},
    target: build.target,
    ignored: [...unread, ...(build.cacheFrom === undefined ? [] : ["build.cacheFrom"])].toSorted(),
    refused: [...RULES.flatMap(([reason, isRefused]) => (isRefused(data) ? [reason] : [])), ...refuseArgs(build.args)],
  };
}

const IS_ELSEWHERE = "is another folder than that of devcontainer.json";

// A reason, and what has to be true for it.
const RULES: readonly (readonly [string, (data: Content) => boolean])[] = [
  ['"features" is not supported: install them in a Dockerfile', ({ features }) => !isEmpty(features)],
  ['"dockerComposeFile" is not supported: name an image or a Dockerfile', (data) => "dockerComposeFile" in data],
  ['"build.options" is not supported: leave it out', ({ build }) => !isEmpty(build.options)],
  [`"build.context" ${IS_ELSEWHERE}`, ({ build }) => !isHere(build.context)],
  [`"context" ${IS_ELSEWHERE}`, ({ context }) => !isHere(context)],
  ["it names both an image and a Dockerfile", (data) => data.image !== undefined && findDockerfile(data) !== undefined],
  [
    "the Dockerfile is outside the folder of devcontainer.json, or has an unusual name",
    (data) => !isInside(findDockerfile(data)),
  ],
  ['"image" is not the name of an image', ({ image = "a" }) => !/^[a-z\d][\w.:/@-]{0,254}$/i.test(image)],
  ['"build.target" is not the name of a stage', ({ build: { target = "a" } }) => !/^[\w.-]{1,128}$/.test(target)],
];

function findDockerfile({ build, dockerFile }: Content): unknown {
  return build.dockerfile ?? dockerFile;
}

function isHere(folder: unknown): boolean {
  return folder === undefined || folder === "." || folder === "./";
}

function nothing(reason: string): Devcontainer {
  return { dockerfile: undefined, image: undefined, args: {}, target: undefined, ignored: [], refused: [reason] };
}

function isInside(dockerfile: unknown): boolean {
  if (dockerfile === undefined) return true;
  return (
    typeof dockerfile === "string" && /^(?!\/)[\w./-]{1,200}$/.test(dockerfile) && !dockerfile.split("/").includes("..")
  );
}

function refuseArgs(args: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(args).flatMap(([name, value]) => {
    if (!/^[A-Za-z_]\w{0,100}$/.test(name)) return [`"build.args" has a name that is none of a variable`];
    if (/\$\{/.test(value)) return [`"build.args.${name}" names a variable of this machine`];
    if (/^BUILDKIT_|_proxy$/i.test(name)) return [`"build.args.${name}" directs the builder or its network`];
    return /\p{C}/u.test(value) || value.length > 1000 ? [`"build.args.${name}" is no line of text`] : [];
  });
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}
