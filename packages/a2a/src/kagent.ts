import { BudgieError, JSON_BOUNDS } from "@budgie/core";
import { toOneLine } from "./http/one-line.ts";
import { parseCounted, toEntries, toFields, type Fields } from "./http/json.ts";
import { checkStatus, readText, send, toPlace } from "./http/send.ts";
import type { A2aServer } from "./wire/a2a-server.ts";

/** A backend of kagent. */
export type Kagent = Pick<A2aServer, "headers" | "url">;

/** An agent of a kagent backend that is ready for calls. */
export type KagentAgent = {
  /** Its namespace and name, such as `kagent.k8s-agent` */
  readonly name: string;
  /** On one line; may be empty */
  readonly description: string;
  readonly server: A2aServer;
};

const LARGEST_BYTES = 4 * 1024 * 1024;
const MOST_AGENTS = 200;
// Each agent comes with its whole description for Kubernetes.
const AGENTS_BOUNDS = { ...JSON_BOUNDS, values: 200_000 };
const LONGEST_DESCRIPTION = 2000;
// Kubernetes names, which become parts of a URL here.
const NAMESPACE = /^[a-z0-9][a-z0-9-]{0,62}$/;
const NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/**
 * Lists the agents of a kagent backend that are accepted and ready, at most 200, by name. Their URLs are below the backend's own,
 * since their cards name addresses of the cluster's network. Throws `RUNNER_UNAVAILABLE`, `LOGIN_REQUIRED`, `AGENT_CRASHED` or
 * `AGENT_FAILED` if it gets no list.
 */
export async function listKagentAgents(
  { headers, url }: Kagent,
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly KagentAgent[]> {
  const who = "the kagent backend";
  const base = new URL(url).href.replace(/\/$/, "");
  const place = new URL(`${base}/api/agents`);
  const response = await send({ who, url: place, headers: { ...headers, accept: "application/json" }, signal });
  const text = await readText(response, { maxBytes: LARGEST_BYTES, who });
  checkStatus(response.statusCode ?? 0, text, { headers, url: place, who });
  const { data } = toFields(parseCounted(text, who, AGENTS_BOUNDS).value);
  if (!Array.isArray(data)) {
    throw new BudgieError("AGENT_FAILED", `The kagent backend at ${toPlace(place)} sent no list of agents.`);
  }
  // Bounded only after agents that are not ready are left out.
  const agents = toEntries(data, Number.POSITIVE_INFINITY).flatMap((entry) => toAgent(entry, { base, headers }));
  return agents.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MOST_AGENTS);
}

type Backend = { readonly base: string; readonly headers: A2aServer["headers"] };

function toAgent(entry: Fields, { base, headers }: Backend): readonly KagentAgent[] {
  const agent = toFields(entry["agent"]);
  const { name, namespace } = toFields(agent["metadata"]);
  const isReady = entry["accepted"] === true && entry["deploymentReady"] === true;
  if (!isReady || typeof name !== "string" || typeof namespace !== "string") return [];
  if (!NAME.test(name) || !NAMESPACE.test(namespace)) return [];
  const { description } = toFields(agent["spec"]);
  const isSandbox = entry["workloadMode"] === "sandbox";
  const path = `${isSandbox ? "a2a-sandboxes" : "a2a"}/${namespace}/${name}`;
  return [
    {
      name: `${namespace}.${name}`,
      description: typeof description === "string" ? toOneLine(description, LONGEST_DESCRIPTION) : "",
      // kagent's own sandboxes refuse a message without a conversation's id.
      server: { url: `${base}/api/${path}/`, headers, namesContext: isSandbox },
    },
  ];
}
