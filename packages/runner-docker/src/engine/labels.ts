import type { OwnerProcess, OwnerRecord, SessionId } from "@budgie/core";

/** What a labelled thing is for: a turn's container, the session's container, its home, its login, the egress proxy of all sessions, or what a home is exported through. */
export type Role = "turn" | "session" | "home" | "auth" | "proxy" | "reader";

/** What the labels of one of budgie's things say. */
export type LabelFacts = {
  readonly owner: OwnerRecord;
  readonly session: string;
  readonly role: string;
  readonly created: Date;
  /** How long its session is kept when its owner is gone; 0 if not at all */
  readonly keepMs: number;
};

/** The filter that finds everything budgie made on an engine. */
export const OURS = { label: ["dev.budgie=1"] };

/** The labels that everything budgie makes carries. None is a secret: anyone who reaches the engine can read them. */
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

function toProcessLabels({ boot, pid, pidNamespace, started }: OwnerProcess): Record<string, string> {
  return {
    "dev.budgie.pid-namespace": pidNamespace,
    "dev.budgie.pid": String(pid),
    "dev.budgie.started": started,
    "dev.budgie.boot": boot,
  };
}

/** Reads labels back; missing ones become empty, and an unreadable time becomes the epoch, so that nothing is too young to go. */
export function parseLabels(labels: Readonly<Record<string, string>> | undefined): LabelFacts {
  const label = (name: string): string => labels?.[`dev.budgie.${name}`] ?? "";
  const created = new Date(label("created"));
  return {
    owner: { instance: label("instance"), host: label("host"), lock: label("lock"), ...parseProcess(label) },
    session: label("session"),
    role: label("role"),
    created: Number.isNaN(created.getTime()) ? new Date(0) : created,
    keepMs: Number(/^\d{1,15}$/.exec(label("keep-ms"))?.[0] ?? 0),
  };
}

/** A process that is half named is none: then its owner's lock decides, as it does for the budgies that named none. */
function parseProcess(label: (name: string) => string): Pick<OwnerRecord, "process"> {
  const [pidNamespace, started, boot] = [label("pid-namespace"), label("started"), label("boot")];
  const pid = Number(/^\d{1,10}$/.exec(label("pid"))?.[0] ?? 0);
  return pidNamespace === "" || started === "" || boot === "" || pid === 0
    ? {}
    : { process: { pidNamespace, pid, started, boot } };
}
