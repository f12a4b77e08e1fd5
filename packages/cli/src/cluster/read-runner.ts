import type { z } from "zod";
import { BudgieError } from "@budgie/core";
import type { ClusterSection, ServerConfig } from "@budgie/mcp-server";
import type { ConfigKey, configSchema } from "../options/config-schema.ts";
import { CLUSTER_PROTECTIONS, ENGINE_PROTECTIONS, parseTime } from "../options/option-values.ts";
import { chooseRunner } from "./choose-runner.ts";

/** The keys of options that stand in {@link OfRunner} alone. */
export type RunnerKey =
  | "acceptWeaker"
  | "kubernetesContext"
  | "kubernetesNamespace"
  | "kubernetesPorts"
  | "kubernetesSidecarImage"
  | "kubernetesWait"
  | "runner";

/** The parts of the configuration that depend on the runner. */
export type OfRunner = Pick<ServerConfig, "acceptWeaker" | "ahead" | "cluster" | "sandbox">;

type Options = Pick<
  z.infer<typeof configSchema>,
  RunnerKey | "ahead" | "kubeconfig" | "runtime" | "sandbox" | "sandboxImage"
>;

type Source = {
  /** The options that somebody set */
  readonly given: { readonly [Key in ConfigKey]?: unknown };
  readonly isInFile: (key: ConfigKey) => boolean;
  /** Returns the name of an option in messages. */
  readonly toName: (key: ConfigKey) => string;
};

/** Returns what the options ask of their runner. Throws `CONFIG_INVALID` for a value that it does not have. */
export function readRunner(options: Options, source: Source): OfRunner {
  const { acceptWeaker, ahead, runtime } = options;
  const { given, toName } = source;
  const runner = chooseRunner(options, { ...source, isSaid: given.sandbox !== undefined });
  if (runner !== "kubernetes") {
    const words = pickWords(acceptWeaker, ENGINE_PROTECTIONS, `${toName("acceptWeaker")} needs --runner kubernetes`);
    return { acceptWeaker: words, ahead, sandbox: runner !== undefined };
  }
  if (runtime !== undefined && !RUNTIME_CLASS.test(runtime)) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `Expected ${toName("runtime")} to be the name of a RuntimeClass, such as gvisor, got "${runtime}".`,
    );
  }
  return {
    acceptWeaker: [],
    ahead: given.ahead === undefined ? 0 : ahead,
    sandbox: true,
    cluster: toSection(options, source),
  };
}

const RUNTIME_CLASS = /^[a-z0-9][a-z0-9.-]{0,252}$/;

function toSection(options: Options, { given, toName }: Source): ClusterSection {
  const { acceptWeaker, kubeconfig, kubernetesContext: context, kubernetesNamespace: namespace } = options;
  return {
    kubeconfig,
    context,
    namespace,
    image: given.sandboxImage === undefined ? undefined : options.sandboxImage,
    sidecarImage: options.kubernetesSidecarImage,
    acceptWeaker: pickWords(acceptWeaker, CLUSTER_PROTECTIONS, `${toName("acceptWeaker")} needs --runner docker`),
    ports: options.kubernetesPorts.map(Number),
    waitMs: parseTime(options.kubernetesWait, { option: toName("kubernetesWait"), most: "24h" }),
  };
}

/** Returns the words, all of which the runner must have. */
function pickWords<Word extends string>(
  given: readonly string[],
  known: readonly Word[],
  need: string,
): readonly Word[] {
  return given.map((word) => {
    const found = known.find((one) => one === word);
    if (found !== undefined) return found;
    throw new BudgieError("CONFIG_INVALID", `The word "${word}" of ${need}. Choose that, or leave the word out.`);
  });
}
