import { hostname } from "node:os";
import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

export const PROCESS_CLAIMS: readonly Claim[] = [
  {
    id: "no-other-processes",
    sharesTurn: true,
    promise: "An agent cannot see, read or signal processes outside its sandbox.",
    protections: ["own-pid-namespace"],
    probes: [
      inSandbox("find another sandbox's process", async (lab) => `${await findProcess(lab)} through "process $found"`),
      inSandbox(
        "read its environment",
        async (lab) => `${await findProcess(lab)}
          said=$(tr '\\0' '\\n' <"/proc/$found/environ" | grep ^VICTIM_SECRET=) && through "$said"; held "$said"`,
      ),
      inSandbox(
        "read its home",
        async (lab) => `${await findProcess(lab)}
          said=$(cat "/proc/$found/root/home/agent/secret" 2>&1) && through "$said"; held "$said"`,
      ),
      inSandbox(
        "signal it",
        async (lab) => `${await findProcess(lab)} kill -0 "$found" && through "it takes signals"; held "refused"`,
      ),
    ],
  },
  {
    id: "no-tracing",
    sharesTurn: true,
    promise: "An agent cannot trace or modify processes outside its sandbox.",
    protections: ["own-pid-namespace", "user", "capabilities"],
    probes: [
      inPerl("trace another sandbox's process", async (lab) => {
        return `${await findInPerl(lab)} tried(call("ptrace", 0x4206, $found + 0, 0, 0));`;
      }),
      inPerl("open its memory for writing", async (lab) => {
        return `${await findInPerl(lab)} sysopen(my $memory, "/proc/$found/mem", 1) ? through("opened") : tried(-1);`;
      }),
    ],
  },
  {
    id: "own-shared-memory",
    sharesTurn: true,
    promise: "An agent shares no memory or message queues with processes outside its sandbox.",
    protections: ["own-ipc"],
    probes: [
      inSandbox("read another sandbox's shared memory", async (lab) => {
        await victimWith(lab, "memory");
        return 'said=$(cat /dev/shm/victim 2>&1) && through "$said"; held "$said"';
      }),
      inSandbox("find its message queue", async (lab) => {
        await victimWith(lab, "queue");
        return '[ -e /dev/mqueue/victim ] && through "/dev/mqueue/victim"; held "there is none"';
      }),
      inPerl("open its System V message queue", async (lab) => {
        const { queueKey } = await victimWith(lab, "system-v-queue");
        return `my $queue = call("msgget", ${queueKey}, 0);
          held("there is none") if $queue == -1 && $! + 0 == 2; tried($queue);`;
      }),
    ],
  },
  {
    id: "own-host-name",
    sharesTurn: true,
    promise: "An agent cannot learn the machine's host name, DNS servers or search domains.",
    protections: ["own-host-name", "name-files"],
    probes: [
      inSandbox("read the machine's host name", () => {
        return `name=$(cat /proc/sys/kernel/hostname) || untried "/proc does not say"
          [ "$name" = '${hostname().replaceAll("'", "")}' ] && through "$name"; held "$name"`;
      }),
      inSandbox(
        "read the machine's DNS settings",
        // A Pod must name a server. There is none at this address.
        `said=$(grep -E "^(nameserver|search|domain)" /etc/resolv.conf | grep -vx "nameserver 127.0.0.1") && through "$said"
          held "there are none"`,
      ),
    ],
  },
];

type Victim = Awaited<ReturnType<Lab["victim"]>>;

/** Returns the victim, or throws if its image could not create this thing. */
async function victimWith(lab: Lab, thing: string): Promise<Victim> {
  const victim = await lab.victim();
  if (!victim.has.includes(thing))
    throw new Error(`The image lacks the programs to create a ${thing} in another sandbox.`);
  return victim;
}

/** Returns a script that sets `found`, or ends as held. It splits the name, so that it does not match its own arguments. */
async function findProcess(lab: Lab): Promise<string> {
  const { name } = await lab.victim();
  return `
    for process in /proc/[0-9]*; do
      tr '\\0' '\\n' <"$process/cmdline" 2>/dev/null | grep -qx '${name.slice(0, 8)}''${name.slice(8)}' && found=\${process#/proc/}
    done
    [ "\${found-}" ] || held "it is not visible"
`;
}

async function findInPerl(lab: Lab): Promise<string> {
  const { name } = await lab.victim();
  return `
    my $found;
    for my $process (glob "/proc/[0-9]*") {
      open(my $file, "<", "$process/cmdline") or next;
      local $/;
      $found = substr($process, 6) if grep { $_ eq "${name.slice(0, 8)}" . "${name.slice(8)}" } split /\\0/, <$file> // "";
    }
    held("it is not visible") unless defined $found;
`;
}
