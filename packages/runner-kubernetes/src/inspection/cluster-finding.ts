/** The result of one look at a cluster. */
export type ClusterFinding = {
  /** `note`: worth knowing, and no obstacle */
  readonly state: "ok" | "note" | "failed";
  /** The subject, such as `rights` */
  readonly what: "cluster" | "namespace" | "rights" | "security" | "pod" | "policy" | "quota";
  /** The fact, with the missing rule or field if one is missing */
  readonly text: string;
  /** A command that removes the cause */
  readonly todo?: string | undefined;
};

/** Returns the command that makes what a namespace lacks. */
export function formatChartTodo(namespace: string): string {
  return `helm upgrade --install budgie deploy/budgie --set namespace=${namespace}    # in a clone of budgie's repository`;
}
