import { BudgieError } from "@budgie/core";
import { callGrpc, type GrpcCall } from "./grpc/call-grpc.ts";
import { findInStruct } from "./grpc/find-in-struct.ts";
import { findField, readMessage, type FieldBudget } from "./grpc/read-message.ts";
import { plainUrl } from "./http/send.ts";
import { isNamespace, toKagentAgent, type KagentAgent } from "./kagent-agent.ts";

type Backend = Omit<GrpcCall, "argument" | "method">;

type Listing = Backend & { readonly budget: FieldBudget };

const MOST_NAMESPACES = 200;
const NAMESPACES_AT_ONCE = 5;
const MOST_FIELDS = 200_000;
const LONGEST_TEXT = 16 * 1024;

/**
 * Lists the agents of a kagent backend from 1.0 on that have a revision to run: those of its first 200 namespaces, since it lists
 * those of one namespace at a time. Their conversations are kagent's sessions, which kagent creates with a conversation's first message.
 */
export async function listGrpcAgents(backend: Backend): Promise<readonly KagentAgent[]> {
  const budget: FieldBudget = { left: MOST_FIELDS };
  const listing = { ...backend, budget };
  const all = await list("SystemService/ListNamespaces", "", listing);
  if (all === undefined) throw noList(backend);
  const names = readAll(backend, () => all.map((one) => textOf(findField(one, 1, budget)))).filter(isNamespace);
  const namespaces = [...new Set(names)].toSorted().slice(0, MOST_NAMESPACES);
  const found: KagentAgent[] = [];
  const refusals: unknown[] = [];
  for (let at = 0; at < namespaces.length; at += NAMESPACES_AT_ONCE) {
    const some = namespaces.slice(at, at + NAMESPACES_AT_ONCE);
    const lists = await Promise.allSettled(some.map((namespace) => listNamespace(namespace, listing)));
    for (const one of lists) {
      if (one.status === "fulfilled") found.push(...one.value);
      else if (isRefusal(one.reason)) refusals.push(one.reason);
      else throw one.reason;
    }
  }
  // A user who may see only some namespaces gets the agents of those.
  if (namespaces.length > 0 && refusals.length === namespaces.length) throw refusals[0];
  return found;
}

function isRefusal(error: unknown): boolean {
  return error instanceof BudgieError && error.code === "LOGIN_REQUIRED";
}

async function listNamespace(namespace: string, listing: Listing): Promise<readonly KagentAgent[]> {
  const { base, budget, headers } = listing;
  const agents = await list("AgentService/ListAgents", namespace, listing);
  if (agents === undefined) throw noList(listing);
  const ready = readAll(listing, () => agents.flatMap((agent) => toReady(agent, budget)));
  const shared = ready.some(({ template }) => template !== undefined)
    ? await listTemplates(namespace, listing)
    : new Map<string, string>();
  return ready.flatMap(({ description, name, template = "" }) =>
    toKagentAgent({ namespace, name, description: description ?? shared.get(template) }, (path) => ({
      url: `${base}/agents/${path}`,
      headers,
      namesContext: false,
    })),
  );
}

type Ready = {
  readonly name: string;
  readonly description: string | undefined;
  /** The name of the template that it shares with others */
  readonly template: string | undefined;
};

/** Returns an agent that has a revision to run; else none. */
function toReady(agent: Buffer, budget: FieldBudget): readonly Ready[] {
  const object = findField(findField(agent, 2, budget), 3, budget);
  const revision = textOf(findInStruct(object, ["status", "latestSuccessfulRevision"], budget));
  const name = textOf(findField(findField(agent, 1, budget), 2, budget));
  if (name === undefined || revision === undefined || revision === "") return [];
  return [
    {
      name,
      description: textOf(findInStruct(object, ["spec", "template", "description"], budget)),
      template: textOf(findInStruct(object, ["spec", "templateRef", "name"], budget)),
    },
  ];
}

/** Resolves to the descriptions of a namespace's templates; none of a backend that keeps them from this user. */
async function listTemplates(namespace: string, listing: Listing) {
  const { budget } = listing;
  const templates = await list("AgentTemplateService/ListAgentTemplates", namespace, listing).catch(
    (error: unknown) => {
      if (isRefusal(error)) return undefined;
      throw error;
    },
  );
  return readAll(
    listing,
    () =>
      new Map(
        (templates ?? []).map((template) => [
          textOf(findField(findField(template, 1, budget), 2, budget)) ?? "",
          textOf(findField(template, 4, budget)) ?? "",
        ]),
      ),
  );
}

/** Resolves to the entries of a list, which is field 1 of an answer; `undefined` if the backend has no such method. */
async function list(method: string, argument: string, { budget, ...backend }: Listing) {
  const answer = await callGrpc({ ...backend, argument, method: `kagent.api.v1alpha1.${method}` });
  if (answer === undefined) return undefined;
  return readAll(backend, () =>
    [...readMessage(answer, budget)].flatMap(([number, entry]) => (number === 1 ? [entry] : [])),
  );
}

function readAll<Result>({ who }: Backend, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new BudgieError(
      "AGENT_FAILED",
      `The server of ${who} sent a list of agents with ${error.message}, so budgie stopped reading.`,
    );
  }
}

function textOf(bytes: Buffer | undefined): string | undefined {
  return bytes?.toString("utf8", 0, LONGEST_TEXT);
}

function noList({ base }: Backend): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `The kagent backend at ${plainUrl(new URL(base))} has no list of agents, neither at /api/agents (kagent 0.7 to 0.10) nor over gRPC-Web (from 1.0 on). ` +
      `Correct "url": it is the controller's address, such as http://127.0.0.1:8083.`,
  );
}
