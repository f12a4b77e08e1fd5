import { BudgieError, formatOption } from "@budgie/core";
import type { EngineUsers } from "@budgie/sandbox/profile";

/**
 * A protection that the engine provides, as reported by the engine. `held`: in force; `weak`: weaker than possible, but
 * sufficient for every claim; `missing`: the claims in `breaks` do not hold.
 */
export type EngineProtection = ProtectionInForce | MissingProtection;

type ProtectionInForce = {
  readonly name: Weaker | "swap" | "users" | "mandatory" | "engine";
  readonly state: "held" | "weak";
  readonly text: string;
};

type MissingProtection = {
  readonly name: Weaker;
  readonly state: "missing";
  readonly text: string;
  /** Ids of claims */
  readonly breaks: readonly string[];
};

/** The protections that `--accept-weaker` can waive. */
export type Weaker = "limits" | "seccomp" | "ulimits";

/** The fields of an engine's `info` that budgie reads. */
export type EngineInfo = {
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly CgroupVersion?: string;
  readonly CgroupDriver?: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Warnings?: readonly string[] | null;
  /** Podman's field; before 4.5 its only sign of rootless mode */
  readonly Rootless?: boolean;
};

/** Lists the protections that an engine enforces or lacks. A protection that the engine does not report counts as missing. */
export function listEngineProtections(info: EngineInfo): readonly EngineProtection[] {
  return [
    judgeLimits(info),
    ...(info.SwapLimit === true ? [] : [NO_SWAP_LIMIT]),
    judgeSeccomp(info),
    USERS[findUsers(info)],
    judgeMandatory(info),
    ...listWarnings(info),
  ];
}

/**
 * Returns the missing protection of an engine that cannot set ulimits. If any is set, Podman 4 also raises the limit on
 * processes, which fails without CAP_SYS_RESOURCE.
 */
export function judgeUlimits({
  name,
  version,
}: Readonly<Record<"name" | "version", string>>): readonly EngineProtection[] {
  return name === "Podman" && Number.parseInt(version, 10) < 5 ? [NO_ULIMITS] : [];
}

/** Returns how an engine maps the uids of its containers to the host's. */
export function findUsers(info: EngineInfo): EngineUsers {
  if (info.Rootless === true || optionOf(info, "rootless") !== undefined) return "rootless";
  return optionOf(info, "userns") === undefined ? "same" : "remapped";
}

/** Lists the notices for users of an engine that lacks protections. */
export function listProtectionNotices(protections: readonly EngineProtection[]): readonly string[] {
  return protections.filter(({ state }) => state === "missing").map(({ text }) => text);
}

/** Throws `RUNNER_UNAVAILABLE` if the engine lacks a protection that is not among the accepted ones. */
export function checkProtections(protections: readonly EngineProtection[], accepted: readonly Weaker[]): void {
  const missing = protections.filter(
    (protection) => protection.state === "missing" && !accepted.includes(protection.name),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(",");
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `${missing.map(({ text }) => text).join(" ")} To run agents there anyway, accept that with ${formatOption("acceptWeaker")} ${names}.`,
  );
}

const LIMITS = {
  MemoryLimit: { what: "memory", claim: "bounded-memory" },
  PidsLimit: { what: "processes", claim: "bounded-processes" },
  CpuCfsQuota: { what: "processors", claim: "bounded-cpu" },
} as const;

function judgeLimits(info: EngineInfo): EngineProtection {
  const keys = Object.keys(LIMITS) as readonly (keyof typeof LIMITS)[];
  // Rootless Podman ignores limits on cgroup v1, and reports the machine's controllers.
  const cannot = findUsers(info) === "rootless" && info.CgroupVersion === "1";
  const unlimited = keys.filter((key) => cannot || info[key] !== true).map((key) => LIMITS[key]);
  const cgroups = `cgroup v${info.CgroupVersion ?? "?"}, ${info.CgroupDriver || "no driver"}`;
  if (unlimited.length === 0) {
    return { name: "limits", state: "held", text: `on memory, processes and processors (${cgroups})` };
  }
  const remedy =
    findUsers(info) === "rootless"
      ? "Give its user these cgroup controllers: that takes cgroup v2 and systemd's Delegate="
      : "Enable these cgroup controllers in the kernel, and restart the engine";
  return {
    name: "limits",
    state: "missing",
    text:
      `The engine cannot limit ${unlimited.map(({ what }) => what).join(" or ")} (${cgroups}): agents can use up the ` +
      `machine's. ${remedy}.`,
    breaks: unlimited.map(({ claim }) => claim),
  };
}

// Memory itself is still limited, which is all that the claim promises.
const NO_SWAP_LIMIT: EngineProtection = {
  name: "swap",
  state: "weak",
  text:
    "The engine cannot limit swap: an agent past its memory fills the machine's swap instead of being ended. " +
    "Boot with swapaccount=1, use cgroup v2, or switch swap off.",
};

function judgeSeccomp(info: EngineInfo): EngineProtection {
  if (optionOf(info, "seccomp") !== undefined) {
    return { name: "seccomp", state: "held", text: "by budgie's own profile" };
  }
  return {
    name: "seccomp",
    state: "missing",
    text:
      "The engine runs containers without seccomp: agents reach every system call of the kernel. Use an engine and a kernel " +
      "that have it.",
    breaks: ["no-keyrings", "no-namespaces", "no-setuid-files", "no-shared-io", "no-other-sockets"],
  };
}

const NO_ULIMITS: EngineProtection = {
  name: "ulimits",
  state: "missing",
  text:
    "Sandboxes have no ulimits: an agent may take all timers, message queues, locked memory and descriptors that the kernel " +
    "counts per user. Podman 5 and later set them.",
  breaks: ["bounded-user-shares"],
};

const USERS: Readonly<Record<EngineUsers, EngineProtection>> = {
  same: {
    name: "users",
    state: "weak",
    text: "The engine maps no user ids: an agent that broke out of its container would be the user whom it runs as.",
  },
  rootless: { name: "users", state: "held", text: "the engine is rootless: nobody in a container is root outside" },
  remapped: { name: "users", state: "held", text: "mapped: nobody in a container is a user of the host's" },
};

function judgeMandatory(info: EngineInfo): EngineProtection {
  const names = [
    ...(optionOf(info, "apparmor") === undefined ? [] : ["AppArmor"]),
    ...(optionOf(info, "selinux") === undefined ? [] : ["SELinux"]),
  ];
  return names.length > 0
    ? { name: "mandatory", state: "held", text: names.join(" and ") }
    : {
        name: "mandatory",
        state: "weak",
        text: "The engine has neither AppArmor nor SELinux: one layer of protection fewer.",
      };
}

/** Returns the engine's warnings except "No … support": these are about limits, which are checked above. */
function listWarnings({ Warnings }: EngineInfo): readonly EngineProtection[] {
  const others = (Warnings ?? []).filter((text) => !/^WARNING: No .* support$/.test(text));
  return others.map((text) => ({ name: "engine", state: "weak", text: text.replace(/\s+/g, " ").trim() }));
}

/** Returns the fields of a security option such as `name=seccomp,profile=default`; `undefined` if the engine lacks it. */
function optionOf({ SecurityOptions }: EngineInfo, name: string): ReadonlyMap<string, string> | undefined {
  const options = (SecurityOptions ?? []).map((option) => new Map(option.split(",").map(splitPair)));
  return options.find((option) => option.get("name") === name);
}

function splitPair(field: string): [string, string] {
  const [key = "", ...value] = field.split("=");
  return [key, value.join("=")];
}
