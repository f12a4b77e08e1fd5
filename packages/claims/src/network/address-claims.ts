import type { Claim, Probe } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import { NOBODY } from "./network-claims.ts";

// Sends the kernel a request like those of `ip`, and reports its answer.
const NETLINK = `sub ask_kernel {
    my ($type, $message) = @_;
    socket(my $socket, 16, SOCK_RAW, 0) or tried(-1);
    defined send($socket, pack("L S S L L", 16 + length $message, $type, 0x605, 1, 0) . $message, 0) or tried(-1);
    recv($socket, my $answer, 4096, 0);
    my $error = -unpack("x16 l", $answer);
    $! = $error;
    tried($error == 0 ? 0 : -1);
  }`;

export const ADDRESS_CLAIMS: readonly Claim[] = [
  {
    id: "no-raw-network",
    sharesTurn: true,
    promise: "An agent cannot send raw packets or reconfigure its network.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      makeProbe("open a raw socket", "tried(socket(my $socket, PF_INET, SOCK_RAW, 255) ? 0 : -1);"),
      makeProbe("open a raw ICMP socket", "tried(socket(my $socket, PF_INET, SOCK_RAW, 1) ? 0 : -1);"),
      makeProbe("open a raw IPv6 socket", "tried(socket(my $socket, PF_INET6, SOCK_RAW, 58) ? 0 : -1);"),
      makeProbe("open a packet socket", "tried(socket(my $socket, 17, SOCK_RAW, 0x0300) ? 0 : -1);"),
      makeProbe(
        "add an address to a network interface",
        `socket(my $socket, PF_INET, SOCK_STREAM, 0) or untried("$!");
        my $request = pack("a16 S n a4 x8", "lo:9", AF_INET, 0, inet_aton("${NOBODY.address}"));
        tried(ioctl($socket, 0x8916, $request) ? 0 : -1);`,
      ),
      makeProbe(
        "switch a network interface off",
        `socket(my $socket, PF_INET, SOCK_STREAM, 0) or untried("$!");
        my $request = pack("a16 s x14", "lo", 0);
        ioctl($socket, 0x8913, $request) or untried("$!");
        tried(ioctl($socket, 0x8914, $request) ? 0 : -1);`,
      ),
      makeProbe(
        "add a route",
        `${NETLINK}
        # RTM_NEWROUTE to the address through the loopback.
        ask_kernel(24, pack("C8 L", 2, 32, 0, 0, 254, 4, 253, 1, 0)
          . pack("S S a4", 8, 1, inet_aton("${NOBODY.address}")) . pack("S S L", 8, 4, 1));`,
      ),
      makeProbe(
        "add a network interface",
        `${NETLINK}
        # RTM_NEWLINK of the kind "bridge", which every engine's kernel supports.
        ask_kernel(16, pack("C x S l L L", 0, 0, 0, 0, 0) . pack("S S a8", 12, 3, "probe0")
          . pack("S S", 16, 18) . pack("S S a8", 10, 1, "bridge"));`,
      ),
      makeProbe(
        "mark packets to bypass the routes",
        `socket(my $socket, PF_INET, SOCK_STREAM, 0) or untried("$!");
        tried(setsockopt($socket, SOL_SOCKET, 36, pack("L", 1)) ? 0 : -1);`,
      ),
    ],
  },
  {
    id: "own-names",
    sharesTurn: true,
    promise: "An agent cannot change how its sandbox resolves names.",
    protections: ["read-only-root", "read-only-mounts", "user", "capabilities"],
    probes: ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"].map((path) =>
      inSandbox(`change ${path}`, () => {
        return `[ -e ${path} ] || untried "there is none"
          said=$( ( : >>${path} ) 2>&1 ) && through "it was opened for writing"; held "$said"`;
      }),
    ),
  },
];

function makeProbe(name: string, script: string): Probe {
  return inPerl(name, `use Socket; ${script}`);
}
