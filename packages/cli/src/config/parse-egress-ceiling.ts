import { BudgieError, type EgressPolicy } from "@budgie/core";
import { listAllowedHosts } from "@budgie/egress/allow-list";
import type { EgressWishes } from "./config-file.ts";

export type EgressCeilingOptions = {
  readonly options: EgressWishes;
  /** The settings of the file, which the options override */
  readonly inFile: EgressWishes;
  readonly file: string | undefined;
  readonly sandbox: boolean;
};

/** Returns the loosest egress policy of all agents. Throws `CONFIG_INVALID` for a setting that cannot be enforced. */
export function parseEgressCeiling({ file = "", inFile, options, sandbox }: EgressCeilingOptions): EgressPolicy {
  const sourceOf = (key: Key): string => (options[key] === undefined ? `"${key}" in "${file}"` : FLAGS[key]);
  const wishes = {
    egress: options.egress ?? inFile.egress,
    allowHost: options.allowHost ?? inFile.allowHost,
    allowPreset: options.allowPreset ?? inFile.allowPreset,
  };
  if (!sandbox) return refuseAll(wishes, sourceOf);
  const { allowHost = [], allowPreset = [], egress: mode = "allowlist" } = wishes;
  const sources = { allowHost: sourceOf("allowHost"), allowPreset: sourceOf("allowPreset") };
  return { mode, hosts: listAllowedHosts({ allowHost, allowPreset }, sources) };
}

const FLAGS = { egress: "--egress", allowHost: "--allow-host", allowPreset: "--allow-preset" } as const;

type Key = keyof typeof FLAGS;

function refuseAll(wishes: EgressWishes, toSource: (key: Key) => string): EgressPolicy {
  const wish = (["egress", "allowHost", "allowPreset"] as const).find((key) => wishes[key] !== undefined);
  if (wish !== undefined) throw needsSandbox(toSource(wish));
  return { mode: "bridge", hosts: [] };
}

/** Returns the error for an option that only a sandbox can enforce. */
export function needsSandbox(option: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `Without --sandbox nothing can enforce ${option}. Add --sandbox, or leave it out.`,
  );
}
