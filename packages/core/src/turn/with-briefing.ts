import type { CopyReport } from "../errors.ts";
import { formatAccess } from "../policy/format-access.ts";
import type { Runner } from "../runner/runner.ts";
import { listLacks, listRefreshed } from "./list-lacks.ts";
import type { Provided } from "./turn-settings.ts";
import type { CheckedRequest } from "./turn-request.ts";

/** Resolves to the prompt of a call, followed by what the agent can do in its sandbox; without a sandbox, to the prompt alone. */
export async function withBriefing(
  { agent, policy, prompt }: CheckedRequest,
  { imageTools = [], isolation, toolsOf }: Pick<Runner, "imageTools" | "isolation" | "toolsOf">,
  { copy, image = agent.program?.image, ...more }: Added = {},
): Promise<string> {
  if (isolation !== "container") return prompt;
  const tools = image === undefined ? imageTools : ((await toolsOf?.(image)) ?? []);
  const access = formatAccess(policy, { subject: "you", imageTools: tools });
  return `${prompt}\n\nYou run in a sandbox: ${access}${formatMore(more)}${formatCopy(copy)} Say what it kept you from, instead of trying again.`;
}

type Added = Pick<Provided, "image" | "mounts" | "services"> & { readonly copy?: CopyReport | undefined };

/** Returns sentences about what a copy lacks, and what changed in it. */
function formatCopy(copy: CopyReport | undefined): string {
  if (copy === undefined) return "";
  const [lacks, refreshed] = [listLacks(copy), listRefreshed(copy)];
  return [
    ...(lacks.length === 0 ? [] : [` The copy differs from the directory: ${lacks.join(" ")}`]),
    ...(refreshed.length === 0 ? [] : [` The copy was brought up to date: ${refreshed.join(" ")}`]),
  ].join("");
}

/** Returns a sentence for what the user's settings add to a sandbox. */
function formatMore({ mounts = [], services = [] }: Pick<Provided, "mounts" | "services">): string {
  const shown = mounts.length === 0 ? "" : ` It also shows you, read-only, ${mounts.join(", ")}.`;
  const names = services.map(({ name, port }) => `${name}:${port}`);
  return names.length === 0 ? shown : `${shown} Beside it run ${names.join(", ")}.`;
}
