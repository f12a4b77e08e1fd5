import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import { NOT_IN_THIS_KERNEL } from "../probe/verdicts.ts";

// Calls that could do harm have arguments that the kernel rejects after the permission check. The numbers after such a call
// are the errors that it then returns.
export const KERNEL_CLAIMS: readonly Claim[] = [
  {
    id: "no-kernel-modules",
    sharesTurn: true,
    promise: "An agent cannot load or unload kernel modules.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      inPerl("load a module", 'my ($no, $none) = ("no module", ""); tried(call("init_module", $no, 9, $none), 8, 22);'),
      inPerl(
        "load a module from a file",
        'open(my $file, "<", "/etc/passwd"); my $none = ""; tried(call("finit_module", fileno($file), $none, 0), 8, 22);',
      ),
      inPerl("unload a module", 'my $name = "budgie_no_module"; tried(call("delete_module", $name, 0x800), 2);'),
    ],
  },
  {
    id: "no-kernel-control",
    sharesTurn: true,
    promise: "An agent cannot program, trace, restart or reconfigure the kernel.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      inPerl("create a BPF map", 'my $map = pack("L4 x104", 2, 4, 4, 1); tried(call("bpf", 0, $map, length $map));'),
      inPerl(
        "trace other processes (perf)",
        'my $event = pack("L2 x104", 1, 112); tried(call("perf_event_open", $event, 0, -1, -1, 0));',
      ),
      inPerl("stall the kernel at page faults (userfaultfd)", 'tried(call("userfaultfd", 1));'),
      inPerl("start another kernel (kexec)", 'tried(call("kexec_load", 0, 0, 0, 0x7f000000), 16, 22);'),
      inPerl("restart the machine", 'tried(call("reboot", 0, 0, 0, 0), 22);'),
      inPerl("set the clock", 'my $time = pack("L x204", 0x4000); tried(call("adjtimex", $time), 22);'),
      inPerl("read the kernel log", 'tried(call("syslog", 10, 0, 0));'),
      inPerl("add swap space", 'my $path = "/tmp/none"; tried(call("swapon", $path, 0), 2);'),
      inPerl("turn on process accounting", 'my $path = "/tmp/none"; tried(call("acct", $path), 2);'),
    ],
  },
  {
    id: "no-keyrings",
    sharesTurn: true,
    promise: "An agent cannot use the kernel's keyrings.",
    protections: ["seccomp"],
    probes: [
      inPerl(
        "add a key",
        'my ($type, $name, $key) = ("user", "budgie-probe", "x"); tried(call("add_key", $type, $name, $key, 1, -2));',
      ),
      inPerl(
        "request a key",
        'my ($type, $name) = ("user", "budgie-none"); tried(call("request_key", $type, $name, 0, 0), 126);',
      ),
      inPerl("open its session keyring", 'tried(call("keyctl", 0, -3, 0));'),
    ],
  },
  {
    id: "no-devices",
    sharesTurn: true,
    promise:
      "An agent has no devices except terminals, /dev/null, /dev/zero, /dev/full and random sources, and creates none.",
    protections: ["user", "capabilities", "devices"],
    probes: [
      inSandbox("find a device", findDevice),
      inSandbox("create a device", scriptDevice("c 1 3", 'through "made"')),
      inSandbox("read the machine's memory", scriptDevice("c 1 1", openNode())),
      inSandbox("read the kernel log from its device", scriptDevice("c 1 11", openNode())),
      inSandbox(
        "open the machine's disk",
        `disk=$(cat /sys/block/*/dev 2>/dev/null | head -n 1 | tr ':' ' '); [ "$disk" ] || untried "there is no disk"
        ${scriptDevice("b $disk", openNode())}`,
      ),
    ],
  },
];

function findDevice(): string {
  return `
  for node in /dev/* /dev/*/*; do
    case \${node#/dev/} in null|zero|full|random|urandom|tty|ptmx|console|pts/*) continue;; esac
    { [ -b "$node" ] || [ -c "$node" ]; } && through "$node"
  done
  held "there is none"`;
}

// Unlike /tmp, the home's file system is not mounted with nodev.
function scriptDevice(numbers: string, then: string): string {
  return `node=$HOME/device-\${nonce##*-}
    command -v mknod >/dev/null || untried "the image has no mknod"
    said=$(mknod "$node" ${numbers} 2>&1) || held "$said"
    ${then}`;
}

function openNode(): string {
  return `said=$( ( : <"$node" ) 2>&1 ) && through "opened"
    case $said in *"No such device"*) untried "${NOT_IN_THIS_KERNEL} such device";; *) held "$said";; esac`;
}
