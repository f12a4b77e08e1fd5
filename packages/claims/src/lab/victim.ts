import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AgentProcess, RunnerSession } from "@budgie/core";
import type { Access } from "@budgie/core/policy";

/** A turn of another session that holds a secret in every place from which one could be stolen. */
export type Victim = {
  /** The secret in its environment, home, shared memory and message queue */
  readonly secret: string;
  /** The name of its process */
  readonly name: string;
  /** The key of its System V message queue */
  readonly queueKey: number;
  /** The resources that the image allowed it to create: `memory`, `queue`, `system-v-queue` */
  readonly has: readonly string[];
};

/** Starts the victim and waits until its secrets are in place. It ends with its session. */
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
  return { secret, name, queueKey, has: await readResources(child) };
}

// The queue's key is unlikely to belong to another queue.
// The redirection fails if other sandboxes use up the user's share of message queues. It would then end the shell with the special
// built-in `:`, but not with `true`.
const SCRIPT = `
printf %s "$VICTIM_SECRET" >"$HOME/secret"
has=ready
printf %s "$VICTIM_SECRET" >/dev/shm/victim && has="$has memory"
true >/dev/mqueue/victim && has="$has queue"
command -v perl >/dev/null && perl -e 'exit !defined msgget($ARGV[0], 0666 | 01000)' "$1" && has="$has system-v-queue"
echo "$has"
while :; do sleep 1; done`;

async function readResources({ exit, stdout, stderr }: AgentProcess): Promise<readonly string[]> {
  stderr.resume();
  const ended = exit.then(({ exitCode }): never => {
    throw new Error(`The victim ended with exit code ${exitCode} before it was ready.`);
  });
  const [said] = await Promise.race([once(stdout, "data"), ended]);
  ended.catch(() => undefined);
  stdout.resume();
  return String(said).trim().split(" ").slice(1);
}
