import { createLineReader } from "@budgie/core/bounds";
import type { ClusterObject } from "./cluster.ts";
import type { Access } from "./load-access.ts";
import { fieldsOf, parseBody, textOf } from "./parse-object.ts";
import { openAnswer } from "./request-cluster.ts";

/** The container of a Pod whose start to hear of. */
export type StartQuery = {
  readonly access: Access;
  /** The path of the namespace's events */
  readonly path: string;
  /** The Pod as it was created */
  readonly pod: Pick<ClusterObject, "resourceVersion" | "uid">;
  readonly container: string;
  /** Ends the wait */
  readonly signal: AbortSignal;
};

const MOST_LINE_BYTES = 1024 * 1024;

/**
 * Resolves to true at kubelet's event that it started a container, which comes up to a second before the Pod's status has it. Resolves to false
 * if the cluster does not tell, since events are for people and may be missing. Never rejects.
 */
export async function hearStart({ access, container, path, pod, signal }: StartQuery): Promise<boolean> {
  const query = {
    watch: "true",
    fieldSelector: `involvedObject.uid=${pod.uid},reason=Started`,
    // Without it the server first reads all events of the namespace. One that keeps events in a database of their own may tell nothing, or too late.
    resourceVersion: pod.resourceVersion,
  };
  let hasStarted = false;
  try {
    const answer = await openAnswer(access, { method: "GET", path, query }, signal);
    const read = createLineReader({
      maxBytes: MOST_LINE_BYTES,
      onLine: (line) => {
        const event = fieldsOf(parseBody(line)?.["object"]);
        const place = textOf(fieldsOf(event["involvedObject"])["fieldPath"]);
        hasStarted ||= place === `spec.containers{${container}}`;
        if (hasStarted) answer.destroy();
      },
      onTooLong: () => answer.destroy(),
    });
    if (answer.statusCode !== 200) answer.destroy();
    for await (const piece of answer as AsyncIterable<Buffer>) read(piece);
  } catch {
    // A watch that broke says as little as one that is not allowed.
  }
  return hasStarted;
}
