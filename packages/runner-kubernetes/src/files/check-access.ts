import { BudgieError } from "@budgie/core";
import { DEFAULT_ACCESS, type Access } from "@budgie/core/policy";

/** Throws `INPUT_INVALID` unless a Pod can give this access: it has a copy of the workspace, which it cannot make read-only for one turn. */
export function checkAccess({ workspace }: Pick<Access, "workspace"> = DEFAULT_ACCESS): void {
  if (workspace === "copy") return;
  const why =
    workspace === "ro-copy"
      ? "cannot show its copy of the directory read-only"
      : "does not see this machine's directories, and works on a copy";
  throw new BudgieError(
    "INPUT_INVALID",
    `The access "${workspace === "ro-copy" ? "ro" : workspace}" is not possible here: a Pod ${why}. Take out "workspace", or make it "copy".`,
  );
}
