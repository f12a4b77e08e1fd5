import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";
import type { SecretPath } from "../lab/fake-home.ts";

export const SECRET_CLAIMS: readonly Claim[] = [
  {
    id: "one-directory",
    sharesTurn: true,
    promise: "An agent can read no files of the host except those in its workspace.",
    protections: ["mounts"],
    probes: [
      makeReadProbe("read the SSH keys", ".ssh/id_rsa"),
      makeReadProbe("read the AWS credentials", ".aws/credentials"),
      makeReadProbe("read ~/.netrc", ".netrc"),
      makeReadProbe("read the GnuPG keys", ".gnupg/private-keys-v1.d/key"),
      makeReadProbe("read the engine's registry logins", ".docker/config.json"),
      makeReadProbe("read the logins of MCP servers", ".aws/sso/cache/kiro-mcp-oauth.json"),
      makeReadProbe("read Kiro's own database", ".local/share/kiro-cli/data.sqlite3"),
      makeReadProbe("read budgie's state", "../own/secret.txt"),
      makeReadProbe("read the project beside its own", "code/other/secret.txt"),
      inSandbox("find any secret of its user in any file", (lab) => scriptSearch(Object.values(lab.host.canaries))),
    ],
  },
  {
    id: "own-kiro-files",
    sharesTurn: true,
    promise: "An agent can read its own agent file and the shared files in its user's ~/.kiro, but no secrets.",
    protections: ["projection"],
    probes: [
      makeReadProbe("read the secrets of MCP servers", ".kiro/settings/mcp.json"),
      makeReadProbe("read Kiro's session histories", ".kiro/sessions/history.jsonl"),
      makeReadProbe("read another agent's file", ".kiro/agents/orchestrator.json"),
    ],
  },
  {
    id: "own-environment",
    sharesTurn: true,
    promise: "An agent's environment contains nothing from budgie's.",
    protections: ["own-environment"],
    probes: [
      inSandbox("read a variable of budgie", (lab) => scriptVariables(lab, "/proc/self/environ")),
      inSandbox("read it from PID 1", (lab) => scriptVariables(lab, "/proc/1/environ")),
      inSandbox("read it from any process", (lab) => scriptVariables(lab, "/proc/[0-9]*/environ")),
    ],
  },
];

/** Returns a script that searches all files changed since the lab was created, except /proc and /sys. */
export function scriptSearch(secrets: readonly string[]): string {
  const patterns = secrets.map((secret) => `-e '${secret}'`).join(" ");
  return `
    command -v find >/dev/null && command -v timeout >/dev/null || untried "the image has no find"
    found=$(timeout 40 find / \\( -path /proc -o -path /sys \\) -prune -o -type f -mmin -600 \\
      -exec grep -lF ${patterns} {} + 2>/dev/null)
    [ $? != 124 ] || untried "the search took too long"
    if [ "$found" ]; then through "$found"; fi
    held "it is in no file"`;
}

/** Returns a script that looks for a mount of another session's volume. */
export function scriptMountSearch(session: string): string {
  return `
    if grep -qF '${session}' /proc/self/mountinfo; then through "it is mounted"; fi
    grep -q ' /home[ /]' /proc/self/mountinfo && held "only its own is mounted" || untried "there is no home"`;
}

/** Creates a probe that reads a secret in the agent's home and at its path on the host. */
function makeReadProbe(name: string, path: SecretPath): Probe {
  return inSandbox(
    name,
    ({ host }) => `
      for file in "$HOME/${path}" '${host.path}/${path}'; do
        if grep -aqsF '${host.canaries[path]}' "$file"; then through "$file"; fi
      done
      held "$(cat '${host.path}/${path}' 2>&1 >/dev/null)"`,
  );
}

// The script contains the variable's value, but a script is in a process's arguments, not in its environment.
function scriptVariables({ environmentSecret }: Lab, files: string): string {
  return `
    [ "$(cat ${files} 2>/dev/null | wc -c)" -gt 0 ] || untried "no environment could be read"
    if cat ${files} 2>/dev/null | grep -aqF '${environmentSecret}'; then through "it is there"; fi
    held "it is not there"`;
}
