import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import type { MountSettings } from "dockerode";
import type { Access, Projection } from "@budgie/core";
import { SANDBOX } from "./container-options.ts";
import { emptyFolder, toHidingMounts } from "./hidden-places.ts";
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
  /** For a list of MCP servers that is to be hidden */
  readonly noServersFile: string;
  /** On the host; `undefined` if the image's own certificates will do */
  readonly caFile: string | undefined;
};

/** Everything of the host that a turn sees, as mounts: unlike `-v` strings they take any path, and refuse a missing one. */
export async function toTurnMounts({
  noServersFile,
  caFile,
  passwdFile,
  projections,
  protectedPaths,
  volumes,
  workspace,
  workspaceMode,
}: TurnMounts): Promise<MountSettings[]> {
  const mounts: MountSettings[] = [
    volumeMount(volumes.home, "/home"),
    { ...volumeMount(volumes.auth, SANDBOX.auth), ReadOnly: true },
    readOnlyBind(passwdFile, "/etc/passwd"),
    ...(caFile === undefined ? [] : [readOnlyBind(caFile, CA_FILE)]),
    workspaceMount(workspace, workspaceMode),
    ...(await toHidingMounts(workspace, noServersFile)),
    ...protectedPaths.flatMap((path) => protectingMounts(workspace, path)),
    ...(await projectionMounts(projections)),
    // Nor may the agent, with a file in its home that gives its name more tools in its next turn. Last, as the user's own
    // agents go there.
    emptyFolder(`${SANDBOX.home}/.kiro/agents`),
  ];
  // The engine refuses two mounts on one target; the first one wins.
  return mounts.filter(({ Target }, index) => mounts.findIndex((other) => other.Target === Target) === index);
}

/** What a session's holder has besides its door: the volumes, writable. */
export function toHolderMounts(volumes: SessionVolumes): MountSettings[] {
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

function workspaceMount(source: string, mode: Access["workspace"]): MountSettings {
  if (mode === "rw") return { Type: "bind", Source: source, Target: SANDBOX.workspace };
  // "Read-only" is true of the mount itself: what is mounted further down would stay writable, and so stays out.
  const BindOptions = { Propagation: "rprivate", NonRecursive: true } as MountSettings["BindOptions"];
  return { ...readOnlyBind(source, SANDBOX.workspace), BindOptions };
}

/**
 * A path of the workspace, read-only. The folders on the way to it become mounts too, writable as they were: renamed, a plain
 * folder would take the mount with it, and another could be put in its place.
 */
function protectingMounts(workspace: string, path: string): MountSettings[] {
  const parts = path.split("/");
  return parts.map((_, index): MountSettings => {
    const part = parts.slice(0, index + 1).join("/");
    const bind = readOnlyBind(join(workspace, part), `${SANDBOX.workspace}/${part}`);
    return part === path ? bind : { ...bind, ReadOnly: false };
  });
}

/** Each path appears below the agent's `$HOME`, and where the host has it: agent files name prompts by absolute path. */
async function projectionMounts(projections: readonly Projection[]): Promise<MountSettings[]> {
  const mounts = projections.map(async ({ home, source }) => {
    const exists = await stat(source).then(
      () => true,
      () => false,
    );
    if (!exists) return [];
    const targets = home === undefined ? [source] : [`${SANDBOX.home}/${home}`, source];
    // The engine takes `a/` for `a`, and refuses to mount both.
    return targets.map((target) => readOnlyBind(source, posix.join(target, ".")));
  });
  return (await Promise.all(mounts)).flat();
}
