import { basename, join, posix } from "node:path";
import type { MountSettings } from "dockerode";
import { DEPTH_FILE, type Access, type Projection } from "@budgie/core";
import { SANDBOX } from "./container-options.ts";
import { coverHiddenPaths, makeMountPoint, type CoveredFolder } from "./hidden-paths.ts";
import { createHeldSources, toMoved, type HeldSource, type HeldSources } from "./mount-sources.ts";
import { CA_FILE } from "./proxy-environment.ts";

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
  /** On the host, as the next */
  readonly passwdFile: string;
  readonly resolvFile: string;
  readonly hostsFile: string;
  readonly depthFile: string;
  /** The container's network mode */
  readonly network: string;
  /** On the host; `undefined` if the image's own certificates will do */
  readonly caFile: string | undefined;
  /** Path on the host for a folder with the turn's covers and mount points */
  readonly skeleton: string;
};

/** One mount of a turn's container. */
export type TurnMount = {
  readonly settings: MountSettings;
  /** Source of a bind mount; missing if it does not exist, and then the engine refuses the mount */
  readonly source?: HeldSource | undefined;
};

/** The mounts of a turn, with their sources open until it is disposed of. */
export type HeldMounts = AsyncDisposable & {
  readonly mounts: readonly TurnMount[];
  readonly workspace: HeldSource;
  /** Folders to cover that did not exist */
  readonly absent: readonly { readonly folder: HeldSource; readonly name: string }[];
};

/** Everything of the host that a turn sees, as mounts: unlike `-v` strings they take any path, and refuse a missing one. */
export async function holdTurnMounts(turn: TurnMounts): Promise<HeldMounts> {
  const heldSources = createHeldSources();
  try {
    const workspace = await holdWorkspace(heldSources, turn.workspace);
    const { absent, covered } = await coverHiddenPaths(workspace, heldSources, turn.skeleton);
    const mounts = [
      { settings: volumeMount(turn.volumes.home, "/home") },
      { settings: { ...volumeMount(turn.volumes.auth, SANDBOX.auth), ReadOnly: true } },
      ...(await Promise.all(toOwnFiles(turn).map(([path, target]) => ownBind(heldSources, path, target)))),
      workspaceBind(workspace, SANDBOX.workspace, turn.workspaceMode),
      ...(await Promise.all(covered.map((folder) => coveringMounts(folder, heldSources, turn)))).flat(),
      ...(await protectingMounts(workspace, heldSources, turn.protectedPaths)),
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
function toOwnFiles({ caFile, depthFile, hostsFile, network, passwdFile, resolvFile }: TurnMounts) {
  return [
    [passwdFile, "/etc/passwd"],
    [depthFile, DEPTH_FILE],
    // On other networks, only the proxy resolves names.
    ...(network === "bridge"
      ? []
      : ([
          [resolvFile, "/etc/resolv.conf"],
          [hostsFile, "/etc/hosts"],
        ] as const)),
    ...(caFile === undefined ? [] : ([[caFile, CA_FILE]] as const)),
  ] as const;
}

/** What a session's container has besides its proxy socket: the volumes, writable. */
export function toSessionMounts(volumes: SessionVolumes): MountSettings[] {
  return [volumeMount(volumes.home, "/home"), volumeMount(volumes.auth, SANDBOX.auth)];
}

/** Shows a volume, as it is. */
export function volumeMount({ labels, name }: SessionVolume, target: string): MountSettings {
  // Copying up what the image has there would bring its owner and its files into the home. The labels are for a volume that
  // somebody removed, and that the engine then makes anew: without them nothing would ever collect it.
  return {
    Type: "volume",
    Source: name,
    Target: target,
    VolumeOptions: { NoCopy: true, Labels: { ...labels }, DriverConfig: { Name: "local", Options: {} } },
  };
}

/** Shows a file or folder of the host. */
export function readOnlyBind(source: string, target: string): MountSettings {
  return { Type: "bind", Source: source, Target: target, ReadOnly: true };
}

async function holdWorkspace(heldSources: HeldSources, path: string): Promise<HeldSource> {
  const workspace = await heldSources.open(path);
  if (workspace?.kind === "folder") return workspace;
  throw toMoved(path, "is no longer a directory");
}

async function ownBind(heldSources: HeldSources, path: string, target: string): Promise<TurnMount> {
  return { settings: readOnlyBind(path, target), source: await heldSources.follow(path) };
}

/** Shows the workspace, or something in it, as a mount of its own. */
function workspaceBind(source: HeldSource, target: string, mode: Access["workspace"]): TurnMount {
  if (mode === "rw") return { settings: { Type: "bind", Source: source.path, Target: target }, source };
  // "Read-only" is true of the mount itself: what is mounted further down would stay writable, and so stays out.
  const BindOptions = { Propagation: "rprivate", NonRecursive: true } as MountSettings["BindOptions"];
  return { settings: { ...readOnlyBind(source.path, target), BindOptions }, source };
}

/** Mounts a cover over a folder of the repository, and in it the entries to show. */
async function coveringMounts(
  { cover, name, shown }: CoveredFolder,
  heldSources: HeldSources,
  { protectedPaths, workspaceMode }: TurnMounts,
): Promise<readonly TurnMount[]> {
  const target = `${SANDBOX.workspace}/${name}`;
  const mode = protectedPaths.includes(name) ? "ro" : workspaceMode;
  const children = shown.map((child) => workspaceBind(child, `${target}/${basename(child.path)}`, mode));
  return [await ownBind(heldSources, cover, target), ...children];
}

/**
 * Paths of the workspace, read-only. The folders on the way to each become mounts too, writable as they were: renamed, a plain
 * folder would take the mount with it, and another could be put in its place.
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
  if (source === undefined || source.kind === "link") throw toMoved(`${folder.path}/${name}`);
  const settings = { ...readOnlyBind(source.path, `${SANDBOX.workspace}/${path}`), ReadOnly: !isOnTheWay };
  return { settings, source };
}

/**
 * Mounts each projection below the agent's `$HOME` and at its path on the host: agent files name prompts by absolute path. The
 * rest of the folder of agents is empty and budgie's own: a file there could give the agent more tools in its next turn.
 */
async function homeMounts(
  heldSources: HeldSources,
  { projections, skeleton }: TurnMounts,
): Promise<readonly TurnMount[]> {
  const cover = join(skeleton, "agents");
  await makeMountPoint(cover, "folder");
  const mounts: TurnMount[] = [];
  for (const { home, source: path } of projections) {
    const source = await heldSources.follow(path);
    if (source === undefined) continue;
    const targets = home === undefined ? [path] : [`${SANDBOX.home}/${home}`, path];
    // The engine takes `a/` for `a`, and refuses to mount both.
    for (const target of targets.map((written) => posix.join(written, "."))) {
      mounts.push({ settings: readOnlyBind(path, target), source });
      if (target.startsWith(`${AGENTS}/`)) await makeMountPoint(cover + target.slice(AGENTS.length), source.kind);
    }
  }
  // Last, so that it has no effect if the user's own folder is shown as a whole.
  return [...mounts, await ownBind(heldSources, cover, AGENTS)];
}

const AGENTS = `${SANDBOX.home}/.kiro/agents`;
