import type { ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import { serveFakeApi, toList, toObject, type Heard, type Said } from "./helpers/fake-api.ts";
import { toPodEnd } from "./helpers/fake-cluster.ts";
import { createFakePod, type Answer, type FakePod } from "./fake-pod.ts";

type Stored = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: object;
  readonly status: object;
};

/** An API server with Pods that run as soon as they are created. */
export type FakePods = {
  readonly kubeconfig: string;
  readonly heard: readonly Heard[];
  /** All Pods that there ever were, in the order of their creation */
  readonly made: readonly FakePod[];
  /** The names of those that are there */
  readonly names: () => readonly string[];
  /** Puts a Pod there */
  readonly add: (pod: Stored) => void;
  /** Takes a Pod away, as somebody else may */
  readonly take: (name: string) => void;
};

export type FakePodsOptions = {
  /** Answers in place of a Pod */
  readonly answer?: Answer;
  /** Answers in place of the server; `undefined` leaves it to that */
  readonly say?: (heard: Heard) => Said | undefined;
  /** The status of Pods; default: they run */
  readonly status?: object;
};

export const RUNNING = {
  phase: "Running",
  hostIP: "10.0.0.9",
  containerStatuses: [{ state: { running: {} } }],
};

/** Starts it until the test is finished. */
export async function serveFakePods({ answer, say, status = RUNNING }: FakePodsOptions = {}): Promise<FakePods> {
  const objects = new Map<string, Stored>();
  const made = new Map<string, FakePod>();
  const watches = new Set<ServerResponse>();
  const tell = (type: string, object: object): void => {
    for (const watch of watches) watch.write(`${JSON.stringify({ type, object })}\n`);
  };

  function add(pod: Stored): void {
    objects.set(`pods/${pod.metadata.name}`, pod);
    made.set(pod.metadata.name, createFakePod(pod.metadata.name, answer));
    tell("ADDED", pod);
  }

  function remove(path: string): Said {
    const object = objects.get(path);
    objects.delete(path);
    if (object !== undefined) tell("DELETED", object);
    return { status: object === undefined ? 404 : 200 };
  }

  function change(path: string, body: string): Said {
    const object = objects.get(path);
    if (object === undefined) return { status: 404 };
    const { metadata, spec } = JSON.parse(body) as { readonly metadata?: object; readonly spec?: object };
    const next = toObject(object.metadata.name, {
      metadata: { ...object.metadata, ...metadata, resourceVersion: String(Math.random()) },
      spec: { ...object.spec, ...spec },
      status: object.status,
    });
    objects.set(path, next);
    return { status: 200, json: next };
  }

  function create(kind: string, body: string): Said {
    const { metadata, spec } = JSON.parse(body) as Stored;
    const object = toObject(metadata.name, { metadata, spec, ...(kind === "pods" ? { status } : {}) });
    if (kind === "pods") add(object);
    else objects.set(`${kind}/${metadata.name}`, object);
    return { status: 201, json: object };
  }

  function list(kind: string, url: URL): Said {
    if (url.searchParams.get("watch") === "true") {
      return (response) => {
        watches.add(response);
        response.flushHeaders();
        // Pods that came since the list.
        for (const [path, object] of objects) if (path.startsWith("pods/")) tell("ADDED", object);
      };
    }
    const wanted = (url.searchParams.get("labelSelector") ?? "").split(",").map((one) => one.split("="));
    const found = [...objects].flatMap(([path, object]) => {
      const { labels = {} } = object.metadata;
      const isWanted = wanted.every(([name = "", value]) => value === undefined || labels[name] === value);
      return path.startsWith(`${kind}/`) && isWanted ? [object] : [];
    });
    return toList(...found);
  }

  function answerRequest({ body, method, url }: Heard): Said {
    const [, kind = "", name] = /\/namespaces\/agents\/([^/]+)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const path = `${kind}/${name}`;
    if (url.pathname === "/version") return { status: 200, json: { gitVersion: "v1.34.0" } };
    if (method === "POST") return create(kind, body);
    if (method === "DELETE") return remove(path);
    if (method === "PATCH") return change(path, body);
    if (name === undefined) return list(kind, url);
    const object = objects.get(path);
    return object === undefined ? { status: 404 } : { status: 200, json: object };
  }

  const { heard, kubeconfig } = await serveFakeApi(
    (one) => say?.(one) ?? answerRequest(one),
    (request, socket, head) => {
      const name = /\/pods\/([^/]+)\/exec/.exec(request.url ?? "")?.[1] ?? "";
      const pod = objects.has(`pods/${name}`) ? made.get(name) : undefined;
      if (pod === undefined) return socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      sockets.handleUpgrade(request, socket, head, (client) => pod.attach(toPodEnd(client)));
    },
  );
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v5.channel.k8s.io" });
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    for (const watch of watches) watch.end();
  });
  return {
    kubeconfig,
    heard,
    get made() {
      return [...made.values()];
    },
    names: () => [...objects.keys()],
    add,
    take: (name) => void remove(`pods/${name}`),
  };
}
