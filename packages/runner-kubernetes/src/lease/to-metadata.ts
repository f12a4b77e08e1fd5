import type { SessionId } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";
import { parseOwnerRecord, type OwnerRecord } from "@budgie/core/owners";
import type { ClusterObject } from "../api/index.ts";

/** The purpose of an object: a session's Pod, one made before a call needed it, or the lease of a budgie. */
export type ObjectRole = "session" | "ahead" | "lease";

/** The content of labels and annotations. */
export type ObjectFacts = {
  /** `undefined` if they do not say it */
  readonly owner: OwnerRecord | undefined;
  /** The instance of the budgie whose it is; empty if they do not say it */
  readonly instance: string;
  readonly session: string;
  readonly role: string;
};

/** The selector of everything that budgie makes in a cluster. */
export const OURS = "dev.budgie=1";

/** Labels take 63 characters and few kinds of them, which the path of a lock is not. */
const OWNER = "dev.budgie.owner";

/** Returns labels and annotations of a new object. None is a secret: everybody who may read there sees them. */
export function toMetadata(owner: OwnerRecord, session: SessionId | "", role: ObjectRole) {
  return {
    labels: {
      "app.kubernetes.io/managed-by": "budgie",
      "dev.budgie": "1",
      "dev.budgie.schema": "1",
      "dev.budgie.instance": owner.instance,
      "dev.budgie.role": role,
      ...(session === "" ? {} : { "dev.budgie.session": session }),
    },
    annotations: { [OWNER]: JSON.stringify(owner) },
  };
}

/** Parses labels and annotations. */
export function parseMetadata({ annotations, labels }: Pick<ClusterObject, "annotations" | "labels">): ObjectFacts {
  return {
    owner: parseOwner(annotations[OWNER] ?? ""),
    instance: labels["dev.budgie.instance"] ?? "",
    session: labels["dev.budgie.session"] ?? "",
    role: labels["dev.budgie.role"] ?? "",
  };
}

function parseOwner(json: string): OwnerRecord | undefined {
  try {
    return parseOwnerRecord(parseBoundedJson(json, { values: 100, depth: 4 }));
  } catch {
    return undefined;
  }
}
