import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";

export const FILE_SYSTEM_CLAIMS: readonly Claim[] = [
  {
    id: "read-only-root",
    sharesTurn: true,
    promise: "An agent cannot change the files of the image.",
    protections: ["read-only-root", "user"],
    probes: [
      ...["/", "/etc/", "/usr/bin/", "/usr/local/bin/", "/root/", "/var/lib/", "/opt/"].map((folder) =>
        makeWriteProbe(`add a file to ${folder}`, `${folder}budgie-probe`),
      ),
      makeWriteProbe("change a program", "/usr/bin/env"),
      makeWriteProbe("change a system setting", "/etc/group"),
    ],
  },
  {
    id: "read-only-mounts",
    sharesTurn: true,
    promise: "An agent cannot change the other files it is shown: its login's folder, /etc/passwd, its user's ~/.kiro.",
    protections: ["read-only-mounts", "verified-mounts", "user", "capabilities"],
    probes: [
      makeWriteProbe("add a file to /auth", "/auth/budgie-probe"),
      makeWriteProbe("change its user entry", "/etc/passwd"),
      makeWriteProbe("change a steering file", "$HOME/.kiro/steering/style.md"),
      makeWriteProbe("add a steering file", "$HOME/.kiro/steering/budgie-probe.md"),
      inSandbox("change a steering file at its path on the host", ({ host }) =>
        scriptWrite(`${host.path}/.kiro/steering/style.md`),
      ),
      makeWriteProbe("change its own agent file", "$HOME/.kiro/agents/reviewer.json"),
      makeWriteProbe("add an agent", "$HOME/.kiro/agents/budgie-probe.json"),
    ],
  },
];

function makeWriteProbe(name: string, path: string): Probe {
  return inSandbox(name, scriptWrite(path));
}

/** Returns a script that opens a file for appending, but writes nothing to it. */
function scriptWrite(path: string): string {
  return `path="${path}"
    [ -d "$(dirname "$path")" ] || untried "there is no $path"
    said=$( ( : >>"$path" ) 2>&1 ) && through "$path was opened for writing"
    held "$said"`;
}
