import { createSessionId } from "@budgie/core";
import type { ClusterObject } from "../src/api/index.ts";
import { toMetadata } from "../src/lease/index.ts";
import type { PodState } from "../src/pods/judge-pod.ts";
import type { PodPlace } from "../src/session/live-pod.ts";
import { createWire, type WireStream } from "../src/wire/index.ts";
import { startFakeCluster, toPodEnd } from "./helpers/fake-cluster.ts";

/** A cluster whose Pods say what a test wants. */
export type FakePods = AsyncDisposable & {
  readonly place: PodPlace;
  /** The requests that reached a Pod, such as `control hello`, and what else happened */
  readonly did: string[];
  /** Says the state of the Pod */
  readonly tell: (state: PodState) => void;
  /** Says that kubelet has started the sidecar's container, or that nobody will say so */
  readonly start: (isTold: boolean) => void;
};

type Answer = Readonly<Record<string, unknown>> | undefined;

type Answering = (request: string, stream: WireStream) => Answer | Promise<Answer>;

/** Answers of a Pod whose agent's container runs. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "control hello": { ok: true, service: "10.96.0.1:443", areFoldersOwn: true },
  "control kernel": { ok: true, landlock: 6, ports: [32_768, 60_999] },
};

/** Starts one. `answer` returns the last value of a request's answer, or `undefined` for the usual one; `print` what `hold` prints. */
export async function startFakePods(answer: Answering = () => undefined): Promise<FakePods> {
  const did: string[] = [];
  let hear: (state: PodState | undefined) => void = () => undefined;
  let start: (isTold: boolean) => void = () => undefined;
  const started = new Promise<boolean>((resolve) => (start = resolve));
  const pod = createWire({
    side: "pod",
    onStream: (stream) => {
      const { act, ask, purpose } = stream.opening;
      const request = [purpose, ask ?? act].filter((part) => typeof part === "string").join(" ");
      did.push(request);
      const answered = Promise.resolve(answer(request, stream));
      stream.input.resume();
      void answered.then((said) => stream.end(said ?? ANSWERS[request] ?? { ok: true }));
    },
  });
  const fake = await startFakeCluster({ onExec: (socket) => (did.push("exec"), pod.attach(toPodEnd(socket))) });
  const owner = { instance: "0a1b2c3d-0000-4000-8000-000000000000", host: "test", lock: "/nowhere" };
  const { annotations, labels } = toMetadata(owner, createSessionId(), "session");
  const status = { hostIP: "10.1.0.2" };
  const object = { name: "made", uid: "u", annotations, labels, status } as unknown as ClusterObject;
  const cluster = {
    server: new URL("https://127.0.0.1:1"),
    create: async () => ({ outcome: "done", object }),
    get: async () => ({ outcome: "done", object }),
    remove: async () => void did.push("remove"),
    hearStart: () => started,
    execOptions: async (name: string, container: string, command: readonly string[]) => ({
      server: fake.server,
      namespace: "agents",
      pod: name,
      container,
      command,
    }),
  };
  const place = {
    cluster,
    owner,
    lease: {
      reference: { apiVersion: "v1", kind: "Lease", name: "lease", uid: "u" },
      isFresh: () => true,
      ended: new Promise(() => undefined),
    },
    pods: {
      follow: (_name: string, next: typeof hear) => ((hear = next), () => undefined),
      close: () => undefined,
    },
  } as unknown as PodPlace;
  return {
    place,
    did,
    tell: (state) => hear(state),
    start,
    async [Symbol.asyncDispose]() {
      pod.close();
      await fake[Symbol.asyncDispose]();
    },
  };
}
