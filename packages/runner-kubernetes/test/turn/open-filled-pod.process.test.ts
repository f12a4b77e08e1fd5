import { expect, it, vi } from "vitest";
import { BudgieError, createSessionId } from "@budgie/core";
import type { Answer, Cluster, ClusterObject } from "../../src/api/index.ts";
import { parseObject } from "../../src/api/parse-object.ts";
import type { PodPlace } from "../../src/session/open-pod.ts";
import { openFilledPod } from "../../src/turn/open-filled-pod.ts";
import { serveBridge } from "../faults/cut-exec.ts";
import { toObject } from "../helpers/fake-api.ts";
import { startFakeCluster } from "../helpers/fake-cluster.ts";
import { SHAPE } from "../helpers/pod-shape.ts";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

const REFUSED = new BudgieError("RUNNER_UNAVAILABLE", "In the Pod, the network policy did not keep a process.");

it("a Pod whose walls did not hold gets nothing of the session, and is removed", async () => {
  await using running = await runSidecar();
  greet(await running.connectHold());
  await using server = await startFakeCluster({
    onExec: (exec) => serveBridge(exec, running.roots.wireSocket, { boundary: undefined, onCut: () => undefined }),
  });
  let name = "";
  const answer = async (): Promise<Answer> => ({
    outcome: "done",
    object: parseObject(toObject(name)) as ClusterObject,
  });
  const remove = vi.fn(async () => undefined);
  const cluster = {
    create: (_kind: string, manifest: { readonly metadata: { readonly name: string } }) => {
      name = manifest.metadata.name;
      return answer();
    },
    get: answer,
    remove,
    execOptions: async (pod: string, container: string, command: readonly string[]) => ({
      server: server.server,
      namespace: "agents",
      pod,
      container,
      command,
    }),
  } as unknown as Cluster;
  const place: PodPlace = {
    cluster,
    owner: { instance: "0a1b2c3d-0000-4000-8000-000000000000", host: "test", lock: "/nowhere" },
    lease: {
      reference: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "lease", uid: "uid-lease" },
      isFresh: () => true,
      ended: new Promise(() => undefined),
      abandon: () => undefined,
      release: async () => undefined,
    },
    pods: {
      follow: (_name, onState) => {
        onState({ state: "running" });
        return () => undefined;
      },
      isRefused: () => false,
      close: () => undefined,
    },
  };
  const fill = vi.fn(async () => undefined);
  const opened = openFilledPod(
    { place: async () => place, trust: undefined, gate: { prove: () => Promise.reject(REFUSED) } },
    {
      session: createSessionId(),
      shape: SHAPE,
      onStream: () => undefined,
      wait: { limitMs: 10_000 },
      processes: { print: async () => "" },
      fill,
    },
  );

  await expect(opened).rejects.toMatchObject({
    code: "RUNNER_UNAVAILABLE",
    message: expect.stringMatching(/^In the Pod, the network policy .* It was the Pod "budgie-[0-9a-f-]{17}"\.$/),
  });
  expect(name).toMatch(/^budgie-/);
  expect(remove).toHaveBeenCalledExactlyOnceWith("pods", expect.objectContaining({ name }));
  expect(fill).not.toHaveBeenCalled();
}, 60_000);
