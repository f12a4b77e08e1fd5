import type { Clock } from "../wire/index.ts";
import type { Answer, Cluster, Limits, ListedKind } from "./cluster.ts";
import { checkAnswer, judgeAnswer, unreadableError, type Asked } from "./judge-answer.ts";
import { hearStart } from "./hear-start.ts";
import { listObjects } from "./list-objects.ts";
import { loadAccess, type Access, type ClusterOptions as AccessOptions } from "./load-access.ts";
import { fieldsOf, parseBody, quote, textOf } from "./parse-object.ts";
import { askRight } from "./ask-right.ts";
import { removeObject } from "./remove-object.ts";
import { requestCluster, type ClusterRequest } from "./request-cluster.ts";
import { watchPods } from "./watch-pods.ts";

export type ClusterOptions = AccessOptions & {
  /** The time as watches see it; default: this machine's */
  readonly clock?: Clock;
};

const GROUPS = {
  pods: "/api/v1",
  leases: "/apis/coordination.k8s.io/v1",
  networkpolicies: "/apis/networking.k8s.io/v1",
  resourcequotas: "/api/v1",
} as const;

/** Connects to a cluster, without asking it anything. Refuses one whose certificate would not be checked. */
export async function connectCluster({ clock, ...options }: ClusterOptions): Promise<Cluster> {
  const access = await loadAccess(options);
  const { context, namespace, server } = access;
  const toPath = (kind: ListedKind, name?: string): string =>
    [
      GROUPS[kind],
      "namespaces",
      encodeURIComponent(namespace),
      kind,
      ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ].join("/");
  const toAsked = (verb: string, resource: Asked["resource"]): Asked => ({ verb, resource, context, namespace });
  const ask = async (asked: Asked, request: ClusterRequest, limits?: Limits): Promise<Answer> =>
    judgeAnswer(await requestCluster(access, request, limits), asked);
  const get: Cluster["get"] = (kind, name, limits) =>
    ask(toAsked("get", kind), { method: "GET", path: toPath(kind, name) }, limits);

  return {
    name: context,
    namespace,
    server,
    version: (limits) => readVersion(access, toAsked("get", "version"), limits),
    create: (kind, body, { isDryRun = false, ...limits } = {}) => {
      const query = isDryRun ? { dryRun: "All" } : {};
      return ask({ ...toAsked("create", kind), isDryRun }, { method: "POST", path: toPath(kind), query, body }, limits);
    },
    get,
    list: async (kind, selector, limits) =>
      (await listObjects(access, { path: toPath(kind), selector, asked: toAsked("list", kind) }, limits)).objects,
    may: (right, limits) => askRight({ access, right, asked: toAsked("create", "selfsubjectaccessreviews") }, limits),
    patch: (kind, name, body) => ask(toAsked("patch", kind), { method: "PATCH", path: toPath(kind, name), body }),
    update: (kind, body) => {
      const path = toPath(kind, textOf(fieldsOf(body["metadata"])["name"]));
      return ask(toAsked("update", kind), { method: "PUT", path, body });
    },
    remove: (kind, object, limits = {}) => {
      const path = toPath(kind, object.name);
      const isGone = async (): Promise<boolean> => {
        const answer = await get(kind, object.name, limits);
        return answer.outcome === "missing" || (answer.outcome === "done" && answer.object.uid !== object.uid);
      };
      return removeObject(access, { path, object, asked: toAsked("delete", kind), isGone }, limits);
    },
    watchPods: (selector, onChange) => {
      const [path, asked] = [toPath("pods"), toAsked("watch", "pods")];
      const list = (signal: AbortSignal) =>
        listObjects(access, { path, selector, asked: toAsked("list", "pods") }, { signal });
      return watchPods({ access, path, selector, asked, list, onChange, ...(clock === undefined ? {} : { clock }) });
    },
    hearStart: (pod, container, signal) => {
      const path = `${GROUPS.pods}/namespaces/${encodeURIComponent(namespace)}/events`;
      return hearStart({ access, path, pod, container, signal });
    },
    execOptions: async (pod, container, command) => {
      const login = await access.login();
      return { server: server.href, namespace, pod, container, command, login };
    },
  };
}

async function readVersion(access: Access, asked: Asked, limits: Limits | undefined): Promise<string> {
  const answer = await requestCluster(access, { method: "GET", path: "/version" }, limits);
  checkAnswer(answer, asked);
  const version = textOf(parseBody(answer.body)?.["gitVersion"]);
  if (version === "") throw unreadableError(asked);
  return quote(version);
}
