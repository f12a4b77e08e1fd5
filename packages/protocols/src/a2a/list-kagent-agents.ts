import { BudgieError } from "@budgie/core";
import { JSON_BOUNDS } from "@budgie/core/bounds";
import { parseCounted, toEntries, toFields, type Fields } from "./http/fields.ts";
import { checkStatus, readText, send, plainUrl } from "./http/send.ts";
import { toKagentAgent, type Kagent, type KagentAgent } from "./kagent-agent.ts";
import { listGrpcAgents } from "./list-grpc-agents.ts";
import type { A2aServer } from "./wire/a2a-server.ts";

const LARGEST_BYTES = 4 * 1024 * 1024;
const MOST_AGENTS = 200;
// Each agent comes with its whole description for Kubernetes.
const AGENTS_BOUNDS = { ...JSON_BOUNDS, values: 200_000 };

/**
 * Lists the agents of a kagent backend that are accepted and ready, at most 200, by name. Their URLs are below the backend's own,
 * since their cards name addresses of the cluster's network. kagent 0.7 to 0.10 lists them as JSON, later ones over gRPC-Web. Throws `RUNNER_UNAVAILABLE`, `LOGIN_REQUIRED`, `AGENT_CRASHED` or
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
  if (response.statusCode === 404) return sort(await listGrpcAgents({ base, headers, signal, who }));
  checkStatus(response.statusCode ?? 0, text, { headers, url: place, who });
  const { data } = toFields(parseCounted(text, who, AGENTS_BOUNDS).value);
  if (!Array.isArray(data)) {
    throw new BudgieError("AGENT_FAILED", `The kagent backend at ${plainUrl(place)} sent no list of agents.`);
  }
  // Bounded only after agents that are not ready are left out.
  return sort(toEntries(data, Number.POSITIVE_INFINITY).flatMap((entry) => toAgent(entry, { base, headers })));
}

function sort(agents: readonly KagentAgent[]): readonly KagentAgent[] {
  return agents.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MOST_AGENTS);
}

type Backend = { readonly base: string; readonly headers: A2aServer["headers"] };

function toAgent(entry: Fields, { base, headers }: Backend): readonly KagentAgent[] {
  const agent = toFields(entry["agent"]);
  const { name, namespace } = toFields(agent["metadata"]);
  const isReady = entry["accepted"] === true && entry["deploymentReady"] === true;
  if (!isReady) return [];
  const { description } = toFields(agent["spec"]);
  const isSandbox = entry["workloadMode"] === "sandbox";
  const room = isSandbox ? "a2a-sandboxes" : "a2a";
  return toKagentAgent(
    { name, namespace, description },
    // kagent's own sandboxes refuse a message without a conversation's id.
    (path) => ({ url: `${base}/api/${room}/${path}/`, headers, namesContext: isSandbox }),
  );
}
