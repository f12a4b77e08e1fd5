import { basename, join, posix } from "node:path";
import type { Command, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, NESTING_FILE, splitHidden, usesCopy, type Access } from "@budgie/core/policy";
import { holdProjection } from "./hold-projection.ts";
import { findWorkspacePath } from "../profile/find-workspace-path.ts";
import { SANDBOX } from "../profile/sandbox-paths.ts";
import { coverHiddenPaths, fold, makeEntry, makeMountPoint, type CoveredPath } from "./cover-hidden-paths.ts";
import { copyMounts, type CopyCover } from "./copy-mounts.ts";
import { gitMounts } from "./git-mounts.ts";
import { makePointsAround } from "./subfolder-git-mounts.ts";
import { readOnlyBind, volumeMount, type SandboxMount, type Volume, type VolumeMount } from "./mount-settings.ts";
import type { MountedFiles } from "./mounted-files.ts";
import { createHeldSources, movedError, type HeldSource, type HeldSources } from "./held-sources.ts";
import { JAVA_TRUST_STORE } from "../profile/java-trust-store.ts";
import { CA_FILE, SOCKETS_TARGET } from "../profile/proxy-environment.ts";

/** The volumes of one session. */
export type Volumes = {
  readonly home: Volume;
  readonly auth: Volume;
  /** The session's copy of the workspace, which exists once a turn needs it; left out if it can have none */
  readonly copy?: Volume | undefined;
};

export type MountRequest = MountedFiles & {
  readonly volumes: Volumes;
  readonly command: Pick<Command, "hidden" | "projections">;
  readonly options: Pick<StartOptions, "access" | "directory" | "git" | "protectedPaths" | "workspacePath">;
  /** The container's network mode, and the folder of the proxy socket and the forwarder if the container runs the forwarder itself */
  readonly network: { readonly mode: string; readonly forwarder?: { readonly folder: string } | undefined };
  /** Path on the host; `undefined` for the image's own certificates */
  readonly caFile: string | undefined;
  /** Path on the host of the folder for the turn's covers and mount points */
  readonly skeleton: string;
  /** The covers over entries that a copy of the workspace has; default none */
  readonly copyCovers?: readonly CopyCover[] | undefined;
};

/** The mounts of a turn, with their sources open until it is disposed. */
export type HeldMounts = AsyncDisposable & {
  readonly mounts: readonly SandboxMount[];
  readonly workspace: HeldSource;
  /** Path of the workspace in the sandbox */
  readonly workspacePath: string;
  /** Files and folders to cover that do not exist */
  readonly absent: readonly { readonly folder: HeldSource; readonly name: string }[];
};

/** Opens the sources of all mounts of a turn. Unlike `-v` strings, mounts accept any path and refuse a missing one. */
export async function holdMounts(request: MountRequest): Promise<HeldMounts> {
  const { options, volumes } = request;
  const at = findWorkspacePath(options);
  const rules = toRules(options, at);
  const heldSources = createHeldSources();
  try {
    const workspace = await holdWorkspace(heldSources, options.directory);
    const shown = usesCopy(rules.mode)
      ? { mounts: await copyMounts(heldSources, { ...request, at }), absent: [] }
      : await directoryMounts(workspace, heldSources, { request, rules });
    const mounts = [
      { settings: volumeMount(volumes.home, "/home") },
      { settings: { ...volumeMount(volumes.auth, SANDBOX.auth), isReadOnly: true } },
      ...(await Promise.all(listOwnFiles(request).map(([path, target]) => ownBind(heldSources, path, target)))),
      ...shown.mounts,
      ...(await homeMounts(heldSources, request)),
    ];
    // The engine refuses two mounts on one target; the first one wins.
    const isFirst = ({ settings: { target } }: SandboxMount, index: number): boolean =>
      mounts.findIndex(({ settings }) => settings.target === target) === index;
    const around = options.git?.around;
    if (around !== undefined) await makePointsAround(mounts, around, request.skeleton);
    return {
      mounts: mounts.filter(isFirst),
      workspace,
      workspacePath: at,
      absent: shown.absent.map((name) => ({ folder: workspace, name })),
      [Symbol.asyncDispose]: () => heldSources[Symbol.asyncDispose](),
    };
  } catch (error) {
    await heldSources[Symbol.asyncDispose]();
    throw error;
  }
}

/** The mounts of a workspace, and the names in it that have to stay missing. */
type ShownWorkspace = { readonly mounts: readonly SandboxMount[]; readonly absent: readonly string[] };

async function directoryMounts(
  workspace: HeldSource,
  heldSources: HeldSources,
  { request: { command, options, skeleton }, rules }: { readonly request: MountRequest; readonly rules: Rules },
): Promise<ShownWorkspace> {
  const { at } = rules;
  const hidden = splitHidden(command).ofWorkspace;
  const { absent, covered, kept } = await coverHiddenPaths(workspace, heldSources, { hidden, skeleton });
  const mounts = [
    workspaceBind(workspace, at, rules.mode),
    ...(await Promise.all(covered.map((folder) => coveringMounts(folder, heldSources, rules)))).flat(),
    ...(await gitMounts(workspace, heldSources, { at, git: options.git, mode: rules.mode, skeleton })),
    ...kept.map((file) => entryBind(file, basename(file.path), rules)),
    ...(await protectingMounts(workspace, heldSources, { at, paths: listUncovered(rules.protectedPaths, covered) })),
  ];
  return { mounts, absent };
}

/** The rules for the workspace and its entries. */
type Rules = {
  /** Path of the workspace in the sandbox */
  readonly at: string;
  readonly mode: Access["workspace"];
  readonly protectedPaths: readonly string[];
};

function toRules({ access = DEFAULT_ACCESS, protectedPaths = [] }: MountRequest["options"], at: string): Rules {
  return { at, mode: access.workspace, protectedPaths: access.workspace === "ro" ? [] : protectedPaths };
}

/** Pairs budgie's own and the user's files with their mount points. */
function listOwnFiles(request: MountRequest) {
  const { caFile, hostsFile, nestingFile, network, passwdFile, resolvFile, trustStoreFile } = request;
  return [
    [passwdFile, "/etc/passwd"],
    [nestingFile, NESTING_FILE],
    // Except on the bridge, only the proxy resolves names.
    ...(network.mode === "bridge"
      ? []
      : ([
          [resolvFile, "/etc/resolv.conf"],
          [hostsFile, "/etc/hosts"],
        ] as const)),
    ...(caFile === undefined ? [] : ([[caFile, CA_FILE]] as const)),
    ...(trustStoreFile === undefined ? [] : ([[trustStoreFile, JAVA_TRUST_STORE]] as const)),
    ...(network.forwarder === undefined ? [] : ([[network.forwarder.folder, SOCKETS_TARGET]] as const)),
  ] as const;
}

/**
 * Returns the mounts of a session's container besides its proxy socket: the volumes, writable. New volumes get the folders of its image.
 */
export function listSessionMounts(volumes: Volumes): readonly VolumeMount[] {
  return [volumeMount(volumes.home, "/home", false), volumeMount(volumes.auth, SANDBOX.auth, false)];
}

async function holdWorkspace(heldSources: HeldSources, path: string): Promise<HeldSource> {
  const workspace = await heldSources.open(path);
  if (workspace?.kind === "folder") return workspace;
  throw movedError(path, "is no longer a directory");
}

async function ownBind(heldSources: HeldSources, path: string, target: string): Promise<SandboxMount> {
  return { settings: readOnlyBind(path, target), source: await heldSources.follow(path) };
}

/** Returns the mount of the workspace, of a path in it, or of a path that the user's settings name. */
function workspaceBind(source: HeldSource, target: string, mode: Access["workspace"]): SandboxMount {
  const settings = readOnlyBind(source.path, target);
  if (mode === "rw") return { settings: { ...settings, isReadOnly: false }, source };
  // Read-only applies to this mount only: nested mounts would stay writable.
  return { settings: { ...settings, isNonRecursive: true }, source };
}

/** Returns the mounts of a cover over a file or folder of the repository, and of the entries to show in it. */
async function coveringMounts(
  { cover, name, shown }: CoveredPath,
  heldSources: HeldSources,
  rules: Rules,
): Promise<readonly SandboxMount[]> {
  const children = shown.map((child) => entryBind(child, `${name}/${basename(child.path)}`, rules));
  return [await ownBind(heldSources, cover, `${rules.at}/${name}`), ...children];
}

/** Returns the mount of an entry of the workspace, read-only if it or its folder is protected. */
function entryBind(source: HeldSource, path: string, { at, mode, protectedPaths }: Rules): SandboxMount {
  const isProtected = protectedPaths.some((other) => `${fold(path)}/`.startsWith(`${fold(other)}/`));
  return workspaceBind(source, `${at}/${path}`, isProtected ? "ro" : mode);
}

/** Leaves out the protected paths in covers: a mount of a hidden one would show it again. */
function listUncovered(protectedPaths: readonly string[], covered: readonly CoveredPath[]): readonly string[] {
  return protectedPaths.filter((path) => !covered.some(({ name }) => `${path}/`.startsWith(`${name}/`)));
}

/**
 * Returns read-only mounts of paths of the workspace. Their parents become writable mounts, since an agent could rename a plain
 * folder with the mount in it, and put another folder in its place.
 */
async function protectingMounts(
  workspace: HeldSource,
  heldSources: HeldSources,
  { at, paths }: { readonly at: string; readonly paths: readonly string[] },
): Promise<readonly SandboxMount[]> {
  const mounts = new Map<string, SandboxMount & { readonly source: HeldSource }>();
  for (const path of paths) {
    const parts = path.split("/");
    let folder = workspace;
    for (const [index, name] of parts.entries()) {
      const part = parts.slice(0, index + 1).join("/");
      const mount =
        mounts.get(part) ??
        (await protectingMount(`${at}/${part}`, heldSources, { folder, name, isOnTheWay: part !== path }));
      mounts.set(part, mount);
      folder = mount.source;
    }
  }
  return [...mounts.values()];
}

type Part = { readonly folder: HeldSource; readonly name: string; readonly isOnTheWay: boolean };

async function protectingMount(target: string, heldSources: HeldSources, { folder, isOnTheWay, name }: Part) {
  const source = await heldSources.open(name, folder);
  if (source === undefined || source.kind === "link") throw movedError(`${folder.path}/${name}`);
  const settings = { ...readOnlyBind(source.path, target), isReadOnly: !isOnTheWay };
  return { settings, source };
}

/**
 * Returns mounts of each projection below the agent's `$HOME` and at its path on the host, since agent files name prompts by absolute path.
 * A hidden folder of the home shows only its cover's files and projections.
 */
async function homeMounts(
  heldSources: HeldSources,
  { command, skeleton }: MountRequest,
): Promise<readonly SandboxMount[]> {
  const covers = Object.entries(splitHidden(command).ofHome).map(([folder, entry]) => ({
    cover: join(skeleton, "~", folder),
    entry,
    target: `${SANDBOX.home}/${folder}`,
  }));
  for (const { cover, entry } of covers) await makeEntry(cover, entry);
  const mounts: SandboxMount[] = [];
  for (const projection of command.projections) {
    const { home, isRequired = false, source: path } = projection;
    const source = await holdProjection(heldSources, projection);
    if (source === undefined) continue;
    const targets = home === undefined ? [path] : [`${SANDBOX.home}/${home}`, path];
    // The engine treats `a/` as `a`, and refuses to mount both.
    for (const target of targets.map((written) => posix.join(written, "."))) {
      mounts.push(isRequired ? workspaceBind(source, target, "ro") : { settings: readOnlyBind(path, target), source });
      const covered = covers.find((one) => target.startsWith(`${one.target}/`));
      if (covered === undefined) continue;
      await makeMountPoint(covered.cover + target.slice(covered.target.length), source.kind);
    }
  }
  // Covers come last, so that they have no effect if the user's own folder is shown as a whole.
  return [...mounts, ...(await Promise.all(covers.map(({ cover, target }) => ownBind(heldSources, cover, target))))];
}
