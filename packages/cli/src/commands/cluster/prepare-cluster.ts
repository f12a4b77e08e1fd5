import { existsSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { BudgieError } from "@budgie/core";
import { escapeForTerminal, joinFirst } from "@budgie/core/text";
import { EXIT, type ClusterSection, type Host } from "@budgie/mcp-server";
import { loadConfigFile } from "../../config/config-file.ts";
import type { Config } from "../../config/config.ts";
import { createStyle } from "../../terminal/style.ts";
import { setKeys } from "../config/set-config.ts";
import { failureText, findingLines, isFailure, type Finding } from "../findings/finding.ts";
import { findLogin } from "./find-login.ts";
import { isReady, listClusterFindings } from "./list-cluster-findings.ts";

export type ClusterPreparation = {
  /** The configuration file, which need not exist */
  readonly file: string;
  /** Reads the configuration again, once the file was changed */
  readonly reload: () => Config;
  /** Asks a person, who may have agreed to everything */
  readonly agree: (question: string) => Promise<boolean>;
  /** Findings that do not depend on the cluster */
  readonly others: readonly Finding[];
};

/**
 * Writes which cluster is used into the configuration, unless it says so, and prints what that cluster lacks. Resolves to the exit code, and to
 * the configuration that counts from then on.
 */
export async function prepareCluster(
  given: ClusterSection,
  { agree, file, others, reload }: ClusterPreparation,
  host: Host,
): Promise<{ readonly exitCode: number; readonly config: Config }> {
  await writeKeys(given, { agree, file }, host);
  const config = reload();
  const { cluster } = config;
  if (cluster === undefined) throw new TypeError("A configuration without a cluster was written.");
  const ofCluster = await listClusterFindings({ ...config, cluster });
  const style = createStyle(host);
  const findings = [...ofCluster, await findLogin(config, host), ...others];
  const sound = findings.filter((finding) => !isFailure(finding));
  host.stdout.write(findingLines(sound, style, host.columns));
  if (sound.length === findings.length) return { config, exitCode: EXIT.done };
  host.stdout.write(
    `${failureText(findings, style, host.columns)}\nThen run "budgie init --runner kubernetes" again.\n`,
  );
  return { config, exitCode: isReady(ofCluster) ? EXIT.failed : EXIT.unready };
}

/** Writes the keys of a cluster that the file has not, or has otherwise. */
async function writeKeys(
  given: ClusterSection,
  { agree, file }: Pick<ClusterPreparation, "agree" | "file">,
  host: Host,
): Promise<void> {
  const kubeconfig = given.kubeconfig ?? findOneFile(host.env["KUBECONFIG"], host.cwd);
  const context = given.context ?? (await chooseContext(kubeconfig, agree));
  const keys = {
    runner: "kubernetes",
    // A client may start budgie without the variable.
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    kubernetesContext: context,
    kubernetesNamespace: given.namespace ?? NAMESPACE,
  };
  const written: Readonly<Record<string, unknown>> = loadConfigFile(
    existsSync(file) ? file : undefined,
    host.home,
  ).options;
  const missing = Object.entries(keys).filter(([key, value]) => written[key] !== value);
  if (missing.length > 0) setKeys(file, Object.fromEntries(missing), host);
}

/** The namespace that the chart makes by default. */
const NAMESPACE = "budgie";

/** Returns the path of the variable, unless it names several. */
function findOneFile(paths: string | undefined, cwd: string): string | undefined {
  return paths === undefined || paths === "" || paths.includes(delimiter) ? undefined : resolve(cwd, paths);
}

async function chooseContext(kubeconfig: string | undefined, agree: ClusterPreparation["agree"]): Promise<string> {
  const { listContexts } = await import("@budgie/runner-kubernetes/api");
  const { current, names } = await listContexts({ kubeconfig });
  const question = `Run sandboxes on the cluster of the context "${current}", which is the current one?`;
  if (current !== undefined && (await agree(question))) return current;
  const known = escapeForTerminal(joinFirst(names, MOST_NAMED)) || "none";
  throw new BudgieError(
    "CONFIG_INVALID",
    `No context was chosen; the kubeconfig has ${known}. Name one with "budgie config set kubernetesContext NAME", or agree with --yes.`,
  );
}

const MOST_NAMED = 10;
