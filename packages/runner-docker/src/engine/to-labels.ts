import type { SessionId } from "@budgie/core";
import type { OwnerProcess, OwnerRecord } from "@budgie/core/owners";

/**
 * The purpose of a container or volume. `session`: a session's container; `home` and `auth`: the volumes of its home and its login; `copy`: the
 * volume with its copy of the workspace, and the container through which that is read; `base`: what several copies share;
 * `proxy`: the egress proxy of all sessions; `reader`: the container that exports a home; `service`: one beside a session's turns.
 */
export type Role = "turn" | "session" | "service" | "home" | "auth" | "copy" | "base" | "proxy" | "reader";

/** The content of the labels of a container or volume. */
export type LabelFacts = {
  readonly owner: OwnerRecord;
  readonly session: string;
  readonly role: string;
  readonly created: Date;
  /** Time during which its session outlives its owner; 0 if it does not */
  readonly keepMs: number;
  /** True if it was made before a call needed it */
  readonly isAhead: boolean;
  /** True if the engine created it for a mount, such as in place of one that somebody removed */
  readonly isMadeForMount: boolean;
};

/** The filter for everything that budgie created on an engine. */
export const OURS = { label: ["dev.budgie=1"] };

/** The label of volumes that the engine creates by itself. */
export const MADE_FOR_MOUNT = { "dev.budgie.made-for-mount": "1" };

/** Returns the labels of a new container or volume. None is a secret: everybody with access to the engine can read them. */
export function toLabels(owner: OwnerRecord, session: SessionId | "", role: Role): Record<string, string> {
  return {
    "dev.budgie": "1",
    "dev.budgie.schema": "1",
    "dev.budgie.instance": owner.instance,
    "dev.budgie.host": owner.host,
    "dev.budgie.lock": owner.lock,
    ...(owner.process === undefined ? {} : toProcessLabels(owner.process)),
    "dev.budgie.session": session,
    "dev.budgie.role": role,
    "dev.budgie.created": new Date().toISOString(),
  };
}

/** Returns labels without the time of creation, in which two equal sandboxes differ. */
export function omitCreated(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const { "dev.budgie.created": _, ...others } = labels ?? {};
  return others;
}

function toProcessLabels({ boot, pid, pidNamespace, started }: OwnerProcess): Record<string, string> {
  return {
    "dev.budgie.pid-namespace": pidNamespace,
    "dev.budgie.pid": String(pid),
    "dev.budgie.started": started,
    "dev.budgie.boot": boot,
  };
}

/** Parses labels. A missing label becomes empty, and an unreadable time becomes the epoch, which no keep time protects. */
export function parseLabels(labels: Readonly<Record<string, string>> | undefined): LabelFacts {
  const label = (name: string): string => labels?.[`dev.budgie.${name}`] ?? "";
  const created = new Date(label("created"));
  return {
    owner: { instance: label("instance"), host: label("host"), lock: label("lock"), ...parseProcess(label) },
    session: label("session"),
    role: label("role"),
    created: Number.isNaN(created.getTime()) ? new Date(0) : created,
    keepMs: Number(/^\d{1,15}$/.exec(label("keep-ms"))?.[0] ?? 0),
    isAhead: label("ahead") === "1",
    isMadeForMount: label("made-for-mount") === "1",
  };
}

/** Parses the owner's process. If a part is missing there is none, and the owner's lock decides whether it is alive. */
function parseProcess(label: (name: string) => string): Pick<OwnerRecord, "process"> {
  const [pidNamespace, started, boot] = [label("pid-namespace"), label("started"), label("boot")];
  const pid = Number(/^\d{1,10}$/.exec(label("pid"))?.[0] ?? 0);
  return pidNamespace === "" || started === "" || boot === "" || pid === 0
    ? {}
    : { process: { pidNamespace, pid, started, boot } };
}
