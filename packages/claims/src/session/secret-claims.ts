import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";
import type { SecretPath } from "../lab/fake-home.ts";

export const SECRET_CLAIMS: readonly Claim[] = [
  {
    id: "one-directory",
    promise: "Of the host's files an agent reads those of its workspace, and no others.",
    protections: ["mounts"],
    probes: [
      toReadProbe("read the SSH keys", ".ssh/id_rsa"),
      toReadProbe("read the AWS credentials", ".aws/credentials"),
      toReadProbe("read ~/.netrc", ".netrc"),
      toReadProbe("read the GnuPG keys", ".gnupg/private-keys-v1.d/key"),
      toReadProbe("read the engine's registry logins", ".docker/config.json"),
      toReadProbe("read the logins of MCP servers", ".aws/sso/cache/kiro-mcp-oauth.json"),
      toReadProbe("read Kiro's own database", ".local/share/kiro-cli/data.sqlite3"),
      toReadProbe("read budgie's state", "../own/secret.txt"),
      toReadProbe("read the project beside its own", "code/other/secret.txt"),
      inSandbox("find any secret of its user in any file", (lab) => toSearch(Object.values(lab.host.canaries))),
    ],
  },
  {
    id: "own-kiro-files",
    promise: "Of its user's ~/.kiro an agent reads its own file and what all agents share, and no secret.",
    protections: ["projection"],
    probes: [
      toReadProbe("read the secrets of MCP servers", ".kiro/settings/mcp.json"),
      toReadProbe("read Kiro's session histories", ".kiro/sessions/history.jsonl"),
      toReadProbe("read another agent's file", ".kiro/agents/orchestrator.json"),
    ],
  },
  {
    id: "own-environment",
    promise: "An agent's environment holds nothing of budgie's.",
    protections: ["own-environment"],
    probes: [
      inSandbox("read a variable of budgie's", (lab) => toVariableProbe(lab, "/proc/self/environ")),
      inSandbox("read it from the first process", (lab) => toVariableProbe(lab, "/proc/1/environ")),
      inSandbox("read it from any process", (lab) => toVariableProbe(lab, "/proc/[0-9]*/environ")),
    ],
  },
];

/** A script that looks into all files that were made or changed since the lab was, the system's own views left out. */
export function toSearch(secrets: readonly string[]): string {
  const patterns = secrets.map((secret) => `-e '${secret}'`).join(" ");
  return `
    command -v find >/dev/null && command -v timeout >/dev/null || untried "the image has no find"
    found=$(timeout 40 find / \\( -path /proc -o -path /sys \\) -prune -o -type f -mmin -600 \\
      -exec grep -lF ${patterns} {} + 2>/dev/null)
    [ $? != 124 ] || untried "the search took too long"
    if [ "$found" ]; then through "$found"; fi
    held "it is in no file"`;
}

/** In the agent's home, and where the host has it. */
function toReadProbe(name: string, path: SecretPath): Probe {
  return inSandbox(
    name,
    ({ host }) => `
      for file in "$HOME/${path}" '${host.path}/${path}'; do
        if grep -aqsF '${host.canaries[path]}' "$file"; then through "$file"; fi
      done
      held "$(cat '${host.path}/${path}' 2>&1 >/dev/null)"`,
  );
}

// The variable's value is also a part of this script, which is in the arguments of its process but not in its environment.
function toVariableProbe({ environmentSecret }: Lab, files: string): string {
  return `
    [ "$(cat ${files} 2>/dev/null | wc -c)" -gt 0 ] || untried "no environment could be read"
    if cat ${files} 2>/dev/null | grep -aqF '${environmentSecret}'; then through "it is there"; fi
    held "it is not there"`;
}
