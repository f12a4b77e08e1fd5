import { buildSandboxVariables } from "@budgie/sandbox/profile";
import { TRUST, type ProcessOrder } from "../requests/index.ts";

/** The parts of a process in a Pod that its variables depend on. */
export type PodVariables = {
  /** The variables of its command */
  readonly env: Readonly<Record<string, string>>;
  readonly hasProxy: boolean;
  /** True if the Pod was sent the user's certificates */
  readonly hasTrust: boolean;
};

/** Pod Security `restricted` admits no root, and no other name depends on the user. */
const AGENT = { uid: 1000, gid: 1000 };

/**
 * The variables of the container that no process gets, the first match of each deciding: the cluster's; those for Kiro, but not the folder
 * of its programs; those for the dynamic linker and for every Node; and those for a network that the Pod does not have.
 */
const UNSET = [
  "KUBERNETES_*",
  "!KIRO_RUNTIME_DIR",
  ...["KIRO_*", "LD_*", "NODE_OPTIONS", "*_PROXY"].flatMap((pattern) => [pattern, pattern.toLowerCase()]),
] as const;

/** Returns the variables of a process in a Pod, and those of its container that it does not get. */
export function toPodVariables({ env, hasProxy, hasTrust }: PodVariables): Pick<ProcessOrder, "env" | "unset"> {
  const own = buildSandboxVariables({
    user: AGENT,
    direct: hasProxy ? [] : undefined,
    trust: hasTrust ? TRUST : undefined,
    // An image's may be a folder of the container, which is read-only.
    variables: { TMPDIR: "/tmp" },
  });
  return { env: { ...own, ...env }, unset: UNSET };
}
