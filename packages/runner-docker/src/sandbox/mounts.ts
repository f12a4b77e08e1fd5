import { basename, join, posix } from "node:path";
import type { MountSettings } from "dockerode";
import { NESTING_FILE, type Access, type Hidden, type Projection } from "@budgie/core";
import { MADE_FOR_MOUNT } from "../engine/labels.ts";
import { SANDBOX } from "./container-options.ts";
import { coverHiddenPaths, fold, makeEntry, makeMountPoint, type CoveredPath } from "./cover-hidden-paths.ts";
import { createHeldSources, movedError, type HeldSource, type HeldSources } from "./mount-sources.ts";
import { CA_FILE, SOCKETS_TARGET } from "./proxy-environment.ts";

/** The volumes of one session. */
export type SessionVolumes = {
  readonly home: SessionVolume;
  readonly auth: SessionVolume;
};

export type SessionVolume = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
};

export type TurnMounts = {
  readonly volumes: SessionVolumes;
  /** On the host */
  readonly workspace: string;
  readonly workspaceMode: Access["workspace"];
  /** Below the workspace */
  readonly protectedPaths: readonly string[];
  readonly projections: readonly Projection[];
  readonly hidden: Hidden;
  /** Paths on the host */
  readonly passwdFile: string;
  readonly resolvFile: string;
  readonly hostsFile: string;
  readonly nestingFile: string;
  /** The container's network mode */
  readonly network: string;
  /** Path on the host of the folder of the proxy socket and the forwarder, if the container runs the forwarder itself */
  readonly forwarderFolder?: string | undefined;
  /** Path on the host; `undefined` for the image's own certificates */
  readonly caFile: string | undefined;
  /** Path on the host of the folder for the turn's covers and mount points */
  readonly skeleton: string;
};

/** One mount of a turn's container. */
export type TurnMount = {
  readonly settings: MountSettings;
  /** The source of a bind mount; missing if it does not exist, and then the engine refuses the mount */
  readonly source?: HeldSource | undefined;
};

/** The mounts of a turn, with their sources open until it is disposed. */
export type HeldMounts = AsyncDisposable & {
  readonly mounts: readonly TurnMount[];
  readonly workspace: HeldSource;
  /** Files and folders to cover that do not exist */
  readonly absent: readonly { readonly folder: HeldSource; readonly name: string }[];
};

/** Opens the sources of all mounts of a turn. Unlike `-v` strings, mounts accept any path and refuse a missing one. */
export async function holdTurnMounts(turn: TurnMounts): Promise<HeldMounts> {
  const heldSources = createHeldSources();
  try {
    const workspace = await holdWorkspace(heldSources, turn.workspace);
    const { absent, covered, kept } = await coverHiddenPaths(workspace, heldSources, {
      hidden: turn.hidden.ofWorkspace,
      skeleton: turn.skeleton,
    });
    const mounts = [
      { settings: volumeMount(turn.volumes.home, "/home") },
      { settings: { ...volumeMount(turn.volumes.auth, SANDBOX.auth), ReadOnly: true } },
      ...(await Promise.all(toOwnFiles(turn).map(([path, target]) => ownBind(heldSources, path, target)))),
      workspaceBind(workspace, SANDBOX.workspace, turn.workspaceMode),
      ...(await Promise.all(covered.map((folder) => coveringMounts(folder, heldSources, turn)))).flat(),
      ...kept.map((file) => entryBind(file, basename(file.path), turn)),
      ...(await protectingMounts(workspace, heldSources, toUncovered(turn.protectedPaths, covered))),
      ...(await homeMounts(heldSources, turn)),
    ];
    // The engine refuses two mounts on one target; the first one wins.
    const isFirst = ({ settings: { Target } }: TurnMount, index: number): boolean =>
      mounts.findIndex(({ settings }) => settings.Target === Target) === index;
    return {
      mounts: mounts.filter(isFirst),
      workspace,
      absent: absent.map((name) => ({ folder: workspace, name })),
      [Symbol.asyncDispose]: () => heldSources[Symbol.asyncDispose](),
    };
  } catch (error) {
    await heldSources[Symbol.asyncDispose]();
    throw error;
  }
}

/** Pairs budgie's own and the user's files with their mount points. */
function toOwnFiles(turn: TurnMounts) {
  const { caFile, forwarderFolder, hostsFile, nestingFile, network, passwdFile, resolvFile } = turn;
  return [
    [passwdFile, "/etc/passwd"],
    [nestingFile, NESTING_FILE],
    // Except on the bridge, only the proxy resolves names.
    ...(network === "bridge"
      ? []
      : ([
          [resolvFile, "/etc/resolv.conf"],
          [hostsFile, "/etc/hosts"],
        ] as const)),
    ...(caFile === undefined ? [] : ([[caFile, CA_FILE]] as const)),
    ...(forwarderFolder === undefined ? [] : ([[forwarderFolder, SOCKETS_TARGET]] as const)),
  ] as const;
}

/**
 * Returns the mounts of a session's container besides its proxy socket: the volumes, writable. New volumes get the folders of its image.
 */
export function toSessionMounts(volumes: SessionVolumes): MountSettings[] {
  return [volumeMount(volumes.home, "/home", false), volumeMount(volumes.auth, SANDBOX.auth, false)];
}

/** Returns the mount of a volume, which gets none of the image's files. With `noCopy` false, an empty one gets them with their owner. */
export function volumeMount({ labels, name }: SessionVolume, target: string, noCopy = true): MountSettings {
  // The labels are for a volume that somebody removed and Docker creates again, empty: garbage collection finds it by its labels, and the
  // next turn does not take it for the session's.
  const Labels = { ...labels, ...MADE_FOR_MOUNT };
  return {
    Type: "volume",
    Source: name,
    Target: target,
    VolumeOptions: { NoCopy: noCopy, Labels, DriverConfig: { Name: "local", Options: {} } },
  };
}

/** Returns the read-only mount of a file or folder of the host. */
export function readOnlyBind(source: string, target: string): MountSettings {
  return { Type: "bind", Source: source, Target: target, ReadOnly: true };
}

async function holdWorkspace(heldSources: HeldSources, path: string): Promise<HeldSource> {
  const workspace = await heldSources.open(path);
  if (workspace?.kind === "folder") return workspace;
  throw movedError(path, "is no longer a directory");
}

async function ownBind(heldSources: HeldSources, path: string, target: string): Promise<TurnMount> {
  return { settings: readOnlyBind(path, target), source: await heldSources.follow(path) };
}

/** Returns the mount of the workspace, or of a path in it. */
function workspaceBind(source: HeldSource, target: string, mode: Access["workspace"]): TurnMount {
  if (mode === "rw") return { settings: { Type: "bind", Source: source.path, Target: target }, source };
  // ReadOnly applies to this mount only: nested mounts would stay writable, so NonRecursive omits them.
  const BindOptions = { Propagation: "rprivate", NonRecursive: true } as MountSettings["BindOptions"];
  return { settings: { ...readOnlyBind(source.path, target), BindOptions }, source };
}

/** Returns the mounts of a cover over a file or folder of the repository, and of the entries to show in it. */
async function coveringMounts(
  { cover, name, shown }: CoveredPath,
  heldSources: HeldSources,
  turn: TurnMounts,
): Promise<readonly TurnMount[]> {
  const children = shown.map((child) => entryBind(child, `${name}/${basename(child.path)}`, turn));
  return [await ownBind(heldSources, cover, `${SANDBOX.workspace}/${name}`), ...children];
}

/** Returns the mount of an entry of the workspace, read-only if it or its folder is protected. */
function entryBind(source: HeldSource, path: string, { protectedPaths, workspaceMode }: TurnMounts): TurnMount {
  const isProtected = protectedPaths.some((other) => `${fold(path)}/`.startsWith(`${fold(other)}/`));
  return workspaceBind(source, `${SANDBOX.workspace}/${path}`, isProtected ? "ro" : workspaceMode);
}

/** Leaves out the protected paths in covers: a mount of a hidden one would show it again. */
function toUncovered(protectedPaths: readonly string[], covered: readonly CoveredPath[]): readonly string[] {
  return protectedPaths.filter((path) => !covered.some(({ name }) => `${path}/`.startsWith(`${name}/`)));
}

/**
 * Returns read-only mounts of paths of the workspace. Their parents become writable mounts, since an agent could rename a plain
 * folder with the mount in it, and put another folder in its place.
 */
async function protectingMounts(
  workspace: HeldSource,
  heldSources: HeldSources,
  protectedPaths: readonly string[],
): Promise<readonly TurnMount[]> {
  const mounts = new Map<string, TurnMount & { readonly source: HeldSource }>();
  for (const path of protectedPaths) {
    const parts = path.split("/");
    let folder = workspace;
    for (const [index, name] of parts.entries()) {
      const part = parts.slice(0, index + 1).join("/");
      const mount =
        mounts.get(part) ?? (await protectingMount(part, heldSources, { folder, name, isOnTheWay: part !== path }));
      mounts.set(part, mount);
      folder = mount.source;
    }
  }
  return [...mounts.values()];
}

type Part = { readonly folder: HeldSource; readonly name: string; readonly isOnTheWay: boolean };

async function protectingMount(path: string, heldSources: HeldSources, { folder, isOnTheWay, name }: Part) {
  const source = await heldSources.open(name, folder);
  if (source === undefined || source.kind === "link") throw movedError(`${folder.path}/${name}`);
  const settings = { ...readOnlyBind(source.path, `${SANDBOX.workspace}/${path}`), ReadOnly: !isOnTheWay };
  return { settings, source };
}

/**
 * Returns mounts of each projection below the agent's `$HOME` and at its path on the host, since agent files name prompts by absolute path.
 * A hidden folder of the home shows only its cover's files and projections.
 */
async function homeMounts(
  heldSources: HeldSources,
  { hidden, projections, skeleton }: TurnMounts,
): Promise<readonly TurnMount[]> {
  const covers = Object.entries(hidden.ofHome).map(([folder, entry]) => ({
    cover: join(skeleton, "~", folder),
    entry,
    target: `${SANDBOX.home}/${folder}`,
  }));
  for (const { cover, entry } of covers) await makeEntry(cover, entry);
  const mounts: TurnMount[] = [];
  for (const { home, source: path } of projections) {
    const source = await heldSources.follow(path);
    if (source === undefined) continue;
    const targets = home === undefined ? [path] : [`${SANDBOX.home}/${home}`, path];
    // The engine treats `a/` as `a`, and refuses to mount both.
    for (const target of targets.map((written) => posix.join(written, "."))) {
      mounts.push({ settings: readOnlyBind(path, target), source });
      const covered = covers.find((one) => target.startsWith(`${one.target}/`));
      if (covered === undefined) continue;
      await makeMountPoint(covered.cover + target.slice(covered.target.length), source.kind);
    }
  }
  // Covers come last, so that they have no effect if the user's own folder is shown as a whole.
  return [...mounts, ...(await Promise.all(covers.map(({ cover, target }) => ownBind(heldSources, cover, target))))];
}
