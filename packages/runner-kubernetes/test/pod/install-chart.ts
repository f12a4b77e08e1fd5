import { fileURLToPath } from "node:url";
import type { Cluster } from "@budgie/testkit";

/** The folder of the chart. */
export const CHART = fileURLToPath(new URL("../../../../deploy/budgie", import.meta.url));

/** Installs the chart with a namespace, and with values as they stand after `--set`. */
export async function installChart({ helm, kubectl }: Cluster, namespace: string, ...values: readonly string[]) {
  const all = [`namespace=${namespace}`, ...values].flatMap((value) => ["--set", value]);
  await helm(["install", namespace, CHART, ...all]);
  // A controller makes it, and a Pod is refused before.
  await kubectl(["-n", namespace, "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
}
