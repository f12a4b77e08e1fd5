import { formatAccess } from "../policy/format-access.ts";
import type { Runner } from "../runner/runner.ts";
import type { Provided } from "./turn-settings.ts";
import type { CheckedRequest } from "./turn-request.ts";

type Place = Pick<Runner, "imageTools" | "isolation">;

/** Returns the prompt of a call, followed by what the agent can do in its sandbox; without a sandbox, the prompt alone. */
export function withBriefing(
  { agent, policy, prompt }: CheckedRequest,
  { imageTools = [], isolation }: Place,
  { image = agent.program?.image, services = [] }: Pick<Provided, "image" | "services"> = {},
): string {
  if (isolation !== "container") return prompt;
  const tools = image === undefined ? imageTools : [];
  const access = formatAccess(policy, { subject: "you", imageTools: tools });
  const names = services.map(({ name, port }) => `${name}:${port}`);
  const beside = names.length === 0 ? "" : ` Beside it run ${names.join(", ")}.`;
  return `${prompt}\n\nYou run in a sandbox: ${access}${beside} Say what it kept you from, instead of trying again.`;
}
