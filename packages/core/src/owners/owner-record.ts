/** What stands between an agent and the host: a container, or nothing. */
export type Isolation = "container" | "none";

/** Who owns a session: enough to ask, from another process, whether the owner still lives. */
export type OwnerRecord = {
  readonly instance: string;
  /** Which machine */
  readonly host: string;
  /** Path of the owner's lock */
  readonly lock: string;
  /** Left out where the system does not tell, and by the budgies that did not ask yet */
  readonly process?: OwnerProcess | undefined;
};

/** A process, named for good: its number is given to others after it, and also below another namespace or boot. */
export type OwnerProcess = {
  readonly pidNamespace: string;
  readonly pid: number;
  /** In clock ticks since the boot */
  readonly started: string;
  readonly boot: string;
};

/** Reads a record back from JSON; `undefined` if it is none. */
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

/** Zero and what is negative would stand for groups of processes. */
function isPid(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
