import { oneLine } from "./http/one-line.ts";
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

type Listed = { readonly namespace: unknown; readonly name: unknown; readonly description: unknown };

const LONGEST_DESCRIPTION = 2000;
// Kubernetes names, which become parts of a URL here.
const NAMESPACE = /^[a-z0-9][a-z0-9-]{0,62}$/;
const NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/** Tells whether a value is the name of a Kubernetes namespace. */
export function isNamespace(value: unknown): value is string {
  return typeof value === "string" && NAMESPACE.test(value);
}

/** Returns an agent that a backend lists; none if Kubernetes would not allow its name. */
export function toKagentAgent(
  { description, name, namespace }: Listed,
  toServer: (path: string) => A2aServer,
): readonly KagentAgent[] {
  if (typeof name !== "string" || !NAME.test(name) || !isNamespace(namespace)) return [];
  return [
    {
      name: `${namespace}.${name}`,
      description: typeof description === "string" ? oneLine(description, LONGEST_DESCRIPTION) : "",
      server: toServer(`${namespace}/${name}`),
    },
  ];
}
