import type { ContainerProtection, Protection } from "../../src/probe/claim.ts";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import type { CreateBody } from "./rewriting-engine.ts";

/** Removes one protection from a turn's container. */
export type RemoveProtection = (body: CreateBody) => void | Promise<void>;

/** The removals of protections. Those of budgie's own code come from the suites about them. */
export type Removals = Partial<Readonly<Record<Protection, RemoveProtection>>>;

/** The removals of the engine's protections. Each removes nothing else. */
export const CONTAINER_REMOVALS = {
  user: (body) => {
    body.User = "0:0";
  },
  capabilities: ({ HostConfig }) => {
    HostConfig.CapDrop = [];
    HostConfig.CapAdd = [...CAPABILITIES];
  },
  "no-new-privileges": ({ HostConfig }) => {
    HostConfig.SecurityOpt = (HostConfig.SecurityOpt as readonly string[]).filter(
      (option) => !option.startsWith("no-new-privileges"),
    );
  },
  seccomp: ({ HostConfig }) => {
    const others = (HostConfig.SecurityOpt as readonly string[]).filter((option) => !option.startsWith("seccomp="));
    HostConfig.SecurityOpt = [...others, "seccomp=unconfined"];
  },
  apparmor: ({ HostConfig }) => {
    HostConfig.SecurityOpt = [...(HostConfig.SecurityOpt ?? []), "apparmor=unconfined"];
  },
  "read-only-root": ({ HostConfig }) => {
    HostConfig.ReadonlyRootfs = false;
  },
  "own-network": ({ HostConfig }) => {
    HostConfig.NetworkMode = "host";
  },
  "own-pid-namespace": async (body) => {
    const victim = await findVictim(body);
    if (victim === undefined) return;
    body.HostConfig.PidMode = `container:${victim}`;
    // The init script refuses to run unless it is PID 1.
    const [shell = "", flag = "", script = "", ...rest] = body.Entrypoint as readonly string[];
    body.Entrypoint = [shell, flag, script.replace(/^\[ "\$PPID" = 1 \].*\n/, ""), ...rest];
  },
  "own-ipc": async (body) => {
    const victim = await findVictim(body);
    body.HostConfig.IpcMode = victim === undefined ? "shareable" : `container:${victim}`;
  },
  "own-host-name": ({ HostConfig }) => {
    Object.assign(HostConfig, { UTSMode: "host" });
  },
  "name-files": ({ HostConfig }) => {
    HostConfig.Mounts =
      HostConfig.Mounts?.filter(({ Target }) => !["/etc/resolv.conf", "/etc/hosts"].includes(Target)) ?? [];
  },
  "masked-paths": ({ HostConfig }) => {
    Object.assign(HostConfig, { MaskedPaths: [], ReadonlyPaths: [] });
  },
  devices: ({ HostConfig }) => {
    HostConfig.DeviceCgroupRules = ["a *:* rwm"];
    HostConfig.Devices = [
      { PathOnHost: "/dev/loop-control", PathInContainer: "/dev/loop-control", CgroupPermissions: "r" },
    ];
  },
  "user-shares": ({ HostConfig }) => {
    HostConfig.Ulimits = [];
  },
  "pids-limit": ({ HostConfig }) => {
    HostConfig.PidsLimit = -1;
  },
  "memory-limit": ({ HostConfig }) => {
    // Enough for any probe, but harmless to the machine.
    HostConfig.Memory = 1024 ** 3;
    HostConfig.MemorySwap = 1024 ** 3;
  },
  "cpu-limit": ({ HostConfig }) => {
    HostConfig.NanoCpus = 0;
  },
  "tmpfs-size": ({ HostConfig }) => {
    const entries = Object.entries((HostConfig.Tmpfs ?? {}) as Record<string, string>);
    HostConfig.Tmpfs = Object.fromEntries(
      entries.map(([path, options]) => [path, options.replace(/size=\w+/, "size=1g")]),
    );
    HostConfig.ShmSize = 1024 ** 3;
  },
  mounts: () => {
    throw new Error("The additional mounts depend on the claim: its suite must give a removal.");
  },
  "read-only-mounts": ({ HostConfig }) => {
    HostConfig.Mounts = HostConfig.Mounts?.map((mount) => ({ ...mount, ReadOnly: false })) ?? [];
  },
  "hidden-agents": ({ HostConfig }) => {
    HostConfig.Mounts =
      HostConfig.Mounts?.filter(({ Target }) => !/^\/workspace\/\.(?:kiro|amazonq)(?:\/|$)/.test(Target)) ?? [];
  },
} as const satisfies Readonly<Record<ContainerProtection, RemoveProtection>>;

// The capabilities that an engine can grant even in a virtual machine or container, where it lacks some itself.
const CAPABILITIES: readonly string[] = (
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_ADMIN NET_RAW " +
  "IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_TIME MKNOD SETFCAP SYSLOG"
).split(" ");

/** Finds the container of the lab's other session, which the probes attack. The victim's own container has no victim. */
async function findVictim({ Env, Labels }: CreateBody): Promise<string | undefined> {
  if (Env?.some((variable) => variable.startsWith("VICTIM_SECRET=")) === true) return undefined;
  const labels = ["dev.budgie.role=turn", `dev.budgie.instance=${Labels["dev.budgie.instance"]}`];
  const turns = await (await testEngine()).listContainers({ filters: { label: labels } });
  return turns.find((turn) => turn.Labels["dev.budgie.session"] !== Labels["dev.budgie.session"])?.Id;
}
