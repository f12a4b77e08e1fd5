import { BudgieError } from "@budgie/core";
import type { A2aServer } from "./a2a-server.ts";
import { checkStatus, readText, send, plainUrl } from "../http/send.ts";
import { parseJson, toEntries, toFields, type Fields } from "../http/fields.ts";
import type { WireVersion } from "./wire.ts";

/** The facts that budgie reads in an agent's card. It ignores the card's addresses, which may be in another network, or somebody else's. */
export type AgentCard = {
  readonly version: WireVersion;
  readonly isStreaming: boolean;
};

const LARGEST_BYTES = 256 * 1024;
const PATH = ".well-known/agent-card.json";
const MOST_INTERFACES = 100;

type Asking = { readonly who: string; readonly signal: AbortSignal };

/** Loads an agent's card from below its URL, else from the root of its host. Throws `AGENT_FAILED` if it names no supported interface. */
export async function loadCard({ headers, url }: A2aServer, { signal, who }: Asking): Promise<AgentCard> {
  const base = new URL(url);
  const places = [new URL(`${base.pathname.replace(/\/$/, "")}/${PATH}`, base), new URL(`/${PATH}`, base)];
  for (const place of places) {
    const response = await send({ who, url: place, headers: { ...headers, accept: "application/json" }, signal });
    const status = response.statusCode ?? 0;
    const text = await readText(response, { maxBytes: LARGEST_BYTES, who });
    if (status === 404 && place !== places.at(-1)) continue;
    checkStatus(status, text, { headers, url: place, who });
    return parseCard(toFields(parseJson(text, who)), who, place);
  }
  throw new TypeError("There is no place for a card.");
}

function parseCard(card: Fields, who: string, place: URL): AgentCard {
  const version = chooseVersion(card);
  const isStreaming = toFields(card["capabilities"])["streaming"] === true;
  if (version !== undefined) return { version, isStreaming };
  throw new BudgieError(
    "AGENT_FAILED",
    `The card of ${who} at ${plainUrl(place)} names no JSON-RPC interface of A2A 1.0 or 0.3, and budgie speaks no other.`,
  );
}

/** Returns the newest version that the card offers by JSON-RPC. */
function chooseVersion(card: Fields): WireVersion | undefined {
  const offered = toEntries(card["supportedInterfaces"], MOST_INTERFACES).flatMap((entry) =>
    entry["protocolBinding"] === "JSONRPC" ? [formatVersion(entry["protocolVersion"])] : [],
  );
  const known = (["1.0", "0.3"] as const).find((version) =>
    offered.some((text) => text === version || text.startsWith(`${version}.`)),
  );
  return known ?? (isOldCard(card) ? "0.3" : undefined);
}

/** Tells whether a card has the shape of 0.3 and offers JSON-RPC, which is the default transport. */
function isOldCard({ additionalInterfaces, preferredTransport = "JSONRPC", protocolVersion = "0.3", url }: Fields) {
  const others = toEntries(additionalInterfaces, MOST_INTERFACES).map(({ transport }) => transport);
  const isKnown = /^0\.[23](?:\.|$)/.test(formatVersion(protocolVersion));
  return isKnown && typeof url === "string" && [preferredTransport, ...others].includes("JSONRPC");
}

/** Returns a version as a string, since some servers write a number. Returns "" for other values: `String` may throw for an object. */
function formatVersion(version: unknown): string {
  return typeof version === "string" || typeof version === "number" ? String(version) : "";
}
