import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AgentProcess, RunnerSession } from "@budgie/core";

/** A turn of another session, with something of every kind that could be taken from it. */
export type Victim = {
  /** In its environment, in its home, in its shared memory, and in a message of a queue */
  readonly secret: string;
  /** What its process is called */
  readonly name: string;
  /** Of its System V message queue */
  readonly queueKey: number;
};

/** Starts the victim and waits until all is in place; it ends with its session. */
export async function startVictim(session: RunnerSession, directory: string): Promise<Victim> {
  const secret = `canary-victim-${randomUUID()}`;
  const name = `victim-${randomUUID().slice(0, 8)}`;
  const queueKey = 0x10_00_00 + Math.floor(Math.random() * 0x7f_00_00);
  const child = await session.start(
    {
      argv: ["/bin/sh", "-c", SCRIPT, name, String(queueKey)],
      env: { VICTIM_SECRET: secret },
      projections: [],
    },
    { directory, input: "" },
  );
  await isReady(child);
  return { secret, name, queueKey };
}

// What the image has no means to make is missing, and a probe that looks for it says so. The queue's number is unlike any other.
const SCRIPT = `
printf %s "$VICTIM_SECRET" >"$HOME/secret"
printf %s "$VICTIM_SECRET" >/dev/shm/victim
: >/dev/mqueue/victim
command -v perl >/dev/null && perl -e 'msgget($ARGV[0], 0666 | 01000)' "$1"
echo ready
while :; do sleep 1; done`;

async function isReady({ exit, stdout, stderr }: AgentProcess): Promise<void> {
  stderr.resume();
  const gone = exit.then(({ exitCode }) => {
    throw new Error(`The victim ended with exit code ${exitCode} before it was there.`);
  });
  await Promise.race([once(stdout, "data"), gone]);
  gone.catch(() => undefined);
  stdout.resume();
}
