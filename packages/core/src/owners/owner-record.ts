/** The protection between an agent and the host: a container, or none, or an agent that runs elsewhere. */
export type Isolation = "container" | "none" | "remote";

/** The owner of a session, described so that another process can find out whether it is alive. */
export type OwnerRecord = {
  readonly instance: string;
  /** The machine's id */
  readonly host: string;
  /** The path of the owner's lock */
  readonly lock: string;
  /** The owner's process; left out on a system without `/proc` */
  readonly process?: OwnerProcess | undefined;
};

/** The identity of a process. A pid alone is not unique: pids are reused, and differ between namespaces and boots. */
export type OwnerProcess = {
  readonly pidNamespace: string;
  readonly pid: number;
  /** The start time, in clock ticks since the boot */
  readonly started: string;
  readonly boot: string;
};

/** Parses a record from JSON data; `undefined` if it is malformed. */
export function parseOwnerRecord(data: unknown): OwnerRecord | undefined {
  const { host, instance, lock, process } = toFields(data);
  if (!isText(instance) || !isText(host) || !isText(lock)) return undefined;
  if (process === undefined) return { instance, host, lock };
  const { boot, pid, pidNamespace, started } = toFields(process);
  if (!isText(pidNamespace) || !isPid(pid) || !isText(started) || !isText(boot)) return undefined;
  return { instance, host, lock, process: { pidNamespace, pid, started, boot } };
}

function toFields(data: unknown): Readonly<Record<string, unknown>> {
  return Object(data) as Record<string, unknown>;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Rejects zero and negative numbers, which stand for process groups. */
function isPid(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
