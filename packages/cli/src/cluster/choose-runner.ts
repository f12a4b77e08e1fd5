import { BudgieError } from "@budgie/core";

type Choice = {
  readonly runner?: "docker" | "kubernetes" | undefined;
  readonly sandbox: boolean;
};

type ChoiceSource = {
  /** True if the user said whether there is a sandbox */
  readonly isSaid: boolean;
  readonly isInFile: (key: "runner" | "sandbox") => boolean;
  /** Returns the name of an option in messages. */
  readonly toName: (key: "runner" | "sandbox") => string;
};

/**
 * Returns the runner of sandboxes; `undefined` without a sandbox. A runner is a sandbox, and `--sandbox` alone means Docker. Of two that differ,
 * the command line's counts. Throws `CONFIG_INVALID` for a runner and no sandbox in the same place.
 */
export function chooseRunner({ runner, sandbox }: Choice, source: ChoiceSource): Choice["runner"] {
  const { isInFile, isSaid, toName } = source;
  if (runner === undefined) return sandbox ? "docker" : undefined;
  if (sandbox || !isSaid) return runner;
  if (isInFile("runner") !== isInFile("sandbox")) return isInFile("runner") ? undefined : runner;
  throw new BudgieError(
    "CONFIG_INVALID",
    `${toName("runner")} is "${runner}", which is a sandbox, and ${toName("sandbox")} says that there is none. Leave one of them out.`,
  );
}
