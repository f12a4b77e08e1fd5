import { createSessionId, type Command } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { SANDBOX } from "@budgie/sandbox/profile";
import type { ClusterContext } from "./cluster-context.ts";
import { openPod } from "../session/open-pod.ts";
import { createPodProcesses } from "../session/pod-processes.ts";
import { toOrder } from "./to-order.ts";
import { toShape } from "./to-shape.ts";

// The image may have to be fetched.
const WAIT_MS = 60_000;
const PRINT_MS = 20_000;

/**
 * Runs a program that only prints, in a Pod of its own without a network, and resolves to its stdout, however it exits. Rejects with the reason
 * of `signal` if that aborts. The walls are not proven: nothing is sent to the Pod that could leave it, and what the image's programs could reach
 * without a wall, its shell can, which runs in each Pod before the proof.
 */
export async function printInPod(context: ClusterContext, argv: Command["argv"], signal: AbortSignal): Promise<string> {
  const processes = createPodProcesses();
  const place = { directory: SANDBOX.workspace };
  const pod = await openPod(await context.place(), {
    session: createSessionId(),
    shape: toShape(context, place),
    onStream: processes.takeStderr,
    wait: { limitMs: WAIT_MS, signal },
  });
  try {
    const order = toOrder(context, { command: { argv, env: {} }, options: place, hasProxy: false });
    // It ends with its Pod, sooner than a program that may say farewell.
    return await orAborted(processes.print(pod, order, { limitMs: PRINT_MS, signal }), signal);
  } finally {
    await pod.remove();
  }
}
