import type { Claim } from "./claim.ts";
import { inPerl, inSandbox } from "./in-sandbox.ts";

export const CAPABILITY_CLAIMS: readonly Claim[] = [
  {
    id: "no-capabilities",
    promise: "An agent has no capability, and can gain none.",
    walls: ["user", "capabilities", "seccomp"],
    probes: [
      inSandbox("have a capability", toSetProbe("CapEff")),
      inSandbox("have one in the bounding set", toSetProbe("CapBnd")),
      inSandbox(
        "give a file away",
        'touch "$HOME/mine"; chown 12345 "$HOME/mine" 2>&1 && through "it was" || held "chown was refused"',
      ),
      inPerl("open a raw socket", "socket(my $socket, 2, 3, 1) and tried(0); tried(-1);"),
      inPerl(
        "become another user",
        "$( = $) = 12345; $< = $> = 12345; $> == 12345 ? through('uid 12345') : held(\"$!\");",
      ),
    ],
  },
];

function toSetProbe(set: string): string {
  return `set=$(sed -n 's/^${set}:[[:space:]]*//p' /proc/self/status)
    case $set in "") untried "/proc says nothing";; *[!0]*) through "$set";; *) held "none";; esac`;
}
