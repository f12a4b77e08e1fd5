import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Access, AgentProcess, RunnerSession } from "@budgie/core";

/** A turn of another session, with something of every kind that could be taken from it. */
export type Victim = {
  /** In its environment, in its home, in its shared memory, and in a message of a queue */
  readonly secret: string;
  /** What its process is called */
  readonly name: string;
  /** Of its System V message queue */
  readonly queueKey: number;
  /** What it could make with what the image has: `memory`, `queue`, `system-v-queue` */
  readonly has: readonly string[];
};

/** Starts the victim and waits until all is in place; it ends with its session. */
export async function startVictim(session: RunnerSession, directory: string, access: Access): Promise<Victim> {
  const secret = `canary-victim-${randomUUID()}`;
  const name = `victim-${randomUUID().slice(0, 8)}`;
  const queueKey = 0x10_00_00 + Math.floor(Math.random() * 0x7f_00_00);
  const child = await session.start(
    {
      argv: ["/bin/sh", "-c", SCRIPT, name, String(queueKey)],
      env: { VICTIM_SECRET: secret },
      projections: [],
    },
    { directory, access, input: "" },
  );
  return { secret, name, queueKey, has: await madeBy(child) };
}

// The queue's number is unlike any other.
const SCRIPT = `
printf %s "$VICTIM_SECRET" >"$HOME/secret"
has=ready
printf %s "$VICTIM_SECRET" >/dev/shm/victim && has="$has memory"
: >/dev/mqueue/victim && has="$has queue"
command -v perl >/dev/null && perl -e 'exit !defined msgget($ARGV[0], 0666 | 01000)' "$1" && has="$has system-v-queue"
echo "$has"
while :; do sleep 1; done`;

async function madeBy({ exit, stdout, stderr }: AgentProcess): Promise<readonly string[]> {
  stderr.resume();
  const gone = exit.then(({ exitCode }): never => {
    throw new Error(`The victim ended with exit code ${exitCode} before it was there.`);
  });
  const [said] = await Promise.race([once(stdout, "data"), gone]);
  gone.catch(() => undefined);
  stdout.resume();
  return String(said).trim().split(" ").slice(1);
}
