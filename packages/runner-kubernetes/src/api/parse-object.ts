import { parseBoundedJson, type JsonBounds } from "@budgie/core/bounds";
import { escapeForTerminal, truncateText } from "@budgie/core/text";
import type { ClusterObject } from "./cluster.ts";

type Fields = Readonly<Record<string, unknown>>;

const MOST_QUOTED = 400;
const BOUNDS: JsonBounds = { values: 500_000, depth: 60 };

/** Parses an object of the cluster; `undefined` if it does not say which one it is. */
export function parseObject(value: unknown): ClusterObject | undefined {
  const fields = fieldsOf(value);
  const metadata = fieldsOf(fields["metadata"]);
  const [name, uid, resourceVersion] = [metadata["name"], metadata["uid"], metadata["resourceVersion"]].map(textOf);
  if (!name || !uid || !resourceVersion) return undefined;
  return {
    name,
    uid,
    resourceVersion,
    created: toDate(metadata["creationTimestamp"]),
    isEnding: metadata["deletionTimestamp"] !== undefined,
    labels: textsOf(metadata["labels"]),
    annotations: textsOf(metadata["annotations"]),
    ownerUids: listOf(metadata["ownerReferences"]).map((owner) => textOf(owner["uid"])),
    spec: fieldsOf(fields["spec"]),
    status: fieldsOf(fields["status"]),
  };
}

/** Parses the body of an answer; `undefined` if it is not JSON, or too much of it. */
export function parseBody(body: Uint8Array): Fields | undefined {
  try {
    return fieldsOf(parseBoundedJson(body, BOUNDS));
  } catch {
    return undefined;
  }
}

/** Returns a time; the epoch if there is none. */
export function toDate(value: unknown): Date {
  const date = new Date(textOf(value));
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}

/** Returns the fields of an object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns the objects of a list; none for anything else. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Returns a text; an empty one for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns words of the cluster for a message to people, cleaned and bounded. */
export function quote(text: string): string {
  return escapeForTerminal(truncateText(text, MOST_QUOTED)).trim();
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
