import { BudgieError } from "@budgie/core";
import { createLineReader } from "@budgie/core/bounds";
import { CLOCK, pause, type Clock } from "../wire/index.ts";
import type { PodChange, PodWatch } from "./cluster.ts";
import { checkAnswer, type Asked } from "./judge-answer.ts";
import { createKnownPods, type KnownPods } from "./known-pods.ts";
import type { PodList } from "./list-objects.ts";
import type { Access } from "./load-access.ts";
import { parseBody, parseObject } from "./parse-object.ts";
import { openAnswer, type ClusterRequest } from "./request-cluster.ts";

/** The Pods to watch. */
export type WatchOptions = {
  readonly access: Access;
  readonly path: string;
  readonly selector: string;
  readonly asked: Asked;
  readonly list: (signal: AbortSignal) => Promise<PodList>;
  readonly onChange: (change: PodChange) => void;
  readonly clock?: Clock;
};

const SERVER_SECONDS = 300;
const CLIENT_MS = 330_000;
const POLL_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 16_000;
const REFUSED_MS = 60_000;
const MOST_LINE_BYTES = 4 * 1024 * 1024;

/**
 * Watches Pods. Watches break, and die without a word: after each, all Pods are listed again, and every 30 s during one. Only a refusal ends it: the first answer, or
 * one for a minute, since rights and credentials come back as a connection does.
 */
export function watchPods(options: WatchOptions): PodWatch {
  const { clock = CLOCK } = options;
  const closing = new AbortController();
  const known = createKnownPods((change) => {
    if (!closing.signal.aborted) options.onChange(change);
  });

  async function follow(): Promise<Error | undefined> {
    let waitMs = FIRST_WAIT_MS;
    // A cluster that never allowed it counts as one that refuses for long.
    let allowedAt = -Infinity;
    const list = async (signal: AbortSignal): Promise<PodList> => {
      const found = await options.list(signal);
      allowedAt = clock.now();
      return found;
    };
    while (!closing.signal.aborted) {
      try {
        await watchOnce({ ...options, list, clock }, known, closing.signal);
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        const isRefused = error instanceof BudgieError && error.code === "CONFIG_INVALID";
        if (isRefused && clock.now() - allowedAt >= REFUSED_MS) return error;
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      }
      await pause(waitMs, { clock, signal: closing.signal });
    }
    return undefined;
  }

  return { close: () => closing.abort(), ended: follow() };
}

type Watching = WatchOptions & { readonly clock: Clock };

/** Lists all Pods, and follows them until the watch ends. */
async function watchOnce(options: Watching, known: KnownPods, closing: AbortSignal): Promise<void> {
  const { clock } = options;
  const limit = new AbortController();
  const signal = AbortSignal.any([closing, limit.signal]);
  const list = async (): Promise<PodList> => {
    const finish = known.beginList();
    const found = await options.list(signal);
    finish(found.objects);
    return found;
  };
  const { resourceVersion } = await list();
  const stops = [
    clock.every(CLIENT_MS, () => limit.abort()),
    // A list that fails says that the watch has ended too.
    clock.every(POLL_MS, () => void list().catch(() => limit.abort())),
  ];
  try {
    await readEvents(options, { resourceVersion, signal, known });
  } finally {
    for (const stop of stops) stop();
    limit.abort();
  }
}

type Reading = { readonly resourceVersion: string; readonly signal: AbortSignal; readonly known: KnownPods };

async function readEvents(options: Watching, { known, resourceVersion, signal }: Reading): Promise<void> {
  const query = {
    watch: "true",
    labelSelector: options.selector,
    resourceVersion,
    timeoutSeconds: String(SERVER_SECONDS),
  };
  const request: ClusterRequest = { method: "GET", path: options.path, query };
  const answer = await openAnswer(options.access, request, signal);
  const { statusCode: status = 0 } = answer;
  // The versions that it names are too old, so all Pods are listed again.
  if (status !== 200) {
    answer.destroy();
    if (status !== 410) checkAnswer({ status, body: Buffer.alloc(0) }, options.asked);
    return;
  }
  const read = createLineReader({
    maxBytes: MOST_LINE_BYTES,
    onLine: (line) => {
      if (!takeEvent(line, known)) answer.destroy();
    },
    onTooLong: () => answer.destroy(),
  });
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) read(piece);
  } catch {
    // A broken watch ends like any other.
  }
}

/** Takes one event; false if the watch is of no more use. */
function takeEvent(line: Buffer, known: KnownPods): boolean {
  const event = parseBody(line);
  const pod = parseObject(event?.["object"]);
  const type = event?.["type"];
  if (pod === undefined || (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED")) return false;
  known.see(pod, type === "DELETED");
  return true;
}
