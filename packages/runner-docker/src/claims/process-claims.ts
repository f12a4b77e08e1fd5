import type { Claim } from "./claim.ts";
import { inSandbox } from "./in-sandbox.ts";

export const PROCESS_CLAIMS: readonly Claim[] = [
  {
    id: "no-other-processes",
    promise: "An agent sees, reads and signals no process outside its own sandbox.",
    walls: ["own-pid-namespace"],
    probes: [
      inSandbox("find another sandbox's process", async (lab) => {
        const { name } = await lab.victim();
        return `${findProcess(name)} through "process $found"`;
      }),
      inSandbox("signal it", async (lab) => {
        const { name } = await lab.victim();
        return `${findProcess(name)} kill -0 "$found" && through "process $found takes signals"; held "refused"`;
      }),
    ],
  },
];

/** A script that sets `found`, or ends. The name is only in the victim's own arguments and, split up, in this script. */
function findProcess(name: string): string {
  return `
    for process in /proc/[0-9]*; do
      tr '\\0' '\\n' <"$process/cmdline" 2>/dev/null | grep -qx '${name.slice(0, 8)}''${name.slice(8)}' && found=\${process#/proc/}
    done
    [ "\${found-}" ] || held "it is not to be seen"
`;
}
