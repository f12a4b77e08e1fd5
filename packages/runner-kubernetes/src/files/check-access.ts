import { BudgieError } from "@budgie/core";
import { DEFAULT_ACCESS, usesCopy, type Access } from "@budgie/core/policy";

/** Throws `INPUT_INVALID` unless a Pod can give this access: it has a copy of the workspace, and sees nothing of this machine. */
export function checkAccess({ workspace }: Pick<Access, "workspace"> = DEFAULT_ACCESS): void {
  if (usesCopy(workspace)) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `The access "${workspace}" is not possible here: a Pod does not see this machine's directories, and works on a copy. ` +
      `Take out "workspace" of budgie's configuration file, or make it "copy".`,
  );
}
