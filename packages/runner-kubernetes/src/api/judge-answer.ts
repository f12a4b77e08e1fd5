import { BudgieError } from "@budgie/core";
import { fieldsOf, listOf, parseBody, parseObject, quote, textOf } from "./parse-object.ts";
import type { Answer, ListedKind } from "./cluster.ts";

/** A request, as an error may name it. */
export type Asked = {
  /** The verb as roles of the cluster have it */
  readonly verb: string;
  readonly resource: ListedKind | "selfsubjectaccessreviews" | "version";
  readonly context: string;
  readonly namespace: string;
  /** True if the answer is about an object that was not stored, and so has no version */
  readonly isDryRun?: boolean | undefined;
};

/** An answer of the API server, read whole. */
export type RawAnswer = { readonly status: number; readonly body: Buffer };

/** Translates an answer with an object. Throws what no caller can handle. */
export function judgeAnswer({ body, status }: RawAnswer, asked: Asked): Answer {
  const fields = parseBody(body) ?? {};
  if (status >= 200 && status < 300) {
    const object = parseObject(asked.isDryRun === true ? addVersion(fields) : fields);
    if (object === undefined) throw unreadableError(asked);
    return { outcome: "done", object };
  }
  return findOutcome(status, fields) ?? refuse({ status, fields }, asked);
}

function addVersion(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...fields, metadata: { ...fieldsOf(fields["metadata"]), resourceVersion: "0" } };
}

/** Throws the error of an answer that is not a success. */
export function checkAnswer({ body, status }: RawAnswer, asked: Asked): void {
  if (status < 200 || status >= 300) refuse({ status, fields: parseBody(body) ?? {} }, asked);
}

/** Makes the error for an answer that is no answer to the request. */
export function unreadableError({ resource, verb }: Asked): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster's answer to "${verb}" of "${resource}" is not what an API server says, or too long. Check the server of the kubeconfig.`,
  );
}

type Refusal = { readonly status: number; readonly fields: Readonly<Record<string, unknown>> };

function findOutcome(status: number, fields: Refusal["fields"]): Answer | undefined {
  const message = textOf(fields["message"]);
  const about = textOf(fieldsOf(fields["details"])["kind"]);
  if (status === 404 && about !== "namespaces") return { outcome: "missing" };
  if (status === 403 && message.includes("exceeded quota")) return { outcome: "wait", why: quote(message) };
  if (status !== 409) return undefined;
  // Two creations at once compete for the quota's own object.
  if (about === "resourcequotas") return { outcome: "wait", why: "the quota is being counted" };
  return { outcome: fields["reason"] === "AlreadyExists" ? "exists" : "changed" };
}

function refuse({ fields, status }: Refusal, asked: Asked): never {
  throw status === 401
    ? loginError(asked)
    : status === 403
      ? forbiddenError(textOf(fields["message"]), asked)
      : status === 404
        ? namespaceError(asked)
        : status === 400 || status === 413 || status === 422
          ? invalidError(fields, asked)
          : busyError(status, asked);
}

const NO_NAMESPACE = { isNamespaceMissing: true } as const;

/** Tells if a cluster refused a request since it lacks the namespace. */
export function isNamespaceMissing(error: unknown): boolean {
  return error instanceof BudgieError && error.cause === NO_NAMESPACE;
}

function namespaceError({ context, namespace }: Asked): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The cluster of the context "${quote(context)}" has no namespace "${namespace}". Create it, or name another one.`,
    { cause: NO_NAMESPACE },
  );
}

function loginError(asked: Asked): BudgieError {
  return configError(asked, "does not accept its credentials (401)", "Log in to the cluster again.");
}

const API_GROUPS: Partial<Record<Asked["resource"], string>> = {
  leases: "coordination.k8s.io",
  networkpolicies: "networking.k8s.io",
  selfsubjectaccessreviews: "authorization.k8s.io",
};

function forbiddenError(message: string, asked: Asked): BudgieError {
  const { namespace, resource, verb } = asked;
  if (message.includes("violates PodSecurity")) {
    // The fields follow, and no value of the request.
    const fields = quote(message.slice(message.indexOf("violates PodSecurity")));
    return configError(asked, `refused a Pod: it ${fields}`, "Check the namespace's Pod Security level.");
  }
  if (/ cannot [a-z]{1,20} resource /.test(message)) {
    const advice = `Allow it in a Role: apiGroups ["${API_GROUPS[resource] ?? ""}"], resources ["${resource}"], verbs ["${verb}"].`;
    return configError(asked, `forbids "${verb}" of "${resource}" in the namespace "${namespace}"`, advice);
  }
  return configError(asked, `refused "${verb}" of "${resource}": ${quote(message)}`, "Ask who runs the cluster.");
}

/** Names fields only, since the message has their values. An admission policy's own words have none. */
function invalidError(fields: Refusal["fields"], asked: Asked): BudgieError {
  const message = textOf(fields["message"]);
  const policy = message.indexOf("ValidatingAdmissionPolicy '");
  if (policy >= 0) {
    return configError(
      asked,
      `refused "${asked.verb}" of "${asked.resource}": ${quote(message.slice(policy))}`,
      "Meet it, or change it.",
    );
  }
  const causes = listOf(fieldsOf(fields["details"])["causes"]).slice(0, 5);
  const names = causes.map(({ field }) => quote(textOf(field))).filter((name) => name !== "");
  const which = names.length === 0 ? quote(textOf(fields["reason"])) || "no reason given" : names.join(", ");
  return configError(asked, `did not take "${asked.verb}" of "${asked.resource}": ${which}`, "Check these settings.");
}

function configError({ context }: Asked, happened: string, advice: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The cluster of the context "${quote(context)}" ${happened}. ${advice}`);
}

function busyError(status: number, { context, resource, verb }: Asked): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster of the context "${quote(context)}" did not answer "${verb}" of "${resource}" (${status}). Try again later.`,
  );
}
