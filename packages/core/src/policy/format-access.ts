import type { AllowedHost } from "../egress.ts";
import { formatDuration } from "../text/parse-duration.ts";
import type { Policy } from "./policy.ts";

type Wording = {
  readonly subject: "it" | "you";
  /** The tools that the image names; empty if it names none */
  readonly imageTools: readonly string[];
};

const MOST_NAMED = 8;

/** Returns what an agent in a sandbox can do: `it may change the directory, has no network, and has 5m.` */
export function formatAccess({ egress, timeoutMs, workspace }: Policy, { imageTools, subject }: Wording): string {
  const [has, reaches] = subject === "it" ? ["has", "reaches"] : ["have", "reach"];
  const access = {
    rw: "may change the directory",
    copy: `${subject === "it" ? "works" : "work"} on a copy of the directory`,
    "ro-copy": "may only read a copy of the directory",
    ro: "may only read the directory",
  }[workspace];
  const network = {
    none: `${has} no network`,
    allowlist: `${reaches} ${toHostsText(egress.hosts)}`,
    open: `${reaches} every public host`,
    bridge: `${reaches} every host`,
  }[egress.mode];
  const tools = imageTools.length === 0 ? "" : ` Its image says that it has ${imageTools.join(", ")}.`;
  return `${subject} ${access}, ${network}, and ${has} ${formatDuration(timeoutMs)}.${tools}`;
}

/** Names the presets and hosts of an allow-list: `only the hosts of kiro, git.example.com`. */
function toHostsText(hosts: readonly AllowedHost[]): string {
  const names = [...new Set(hosts.map(toName))];
  const rest = names.splice(MOST_NAMED).length;
  return names.length === 0 ? "no host" : `only ${names.join(", ")}${rest === 0 ? "" : ` and ${rest} more`}`;
}

function toName({ from, host, port }: AllowedHost): string {
  const [, preset] = /^preset ([\w-]+)/.exec(from) ?? [];
  if (preset !== undefined) return `the hosts of ${preset}`;
  return port === 443 ? host : `${host}:${port}`;
}
