import type { Claim } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";
import { NOT_IN_THIS_KERNEL } from "../probe/verdicts.ts";

/** Claims that rest only on budgie's own seccomp profile. */
export const SECCOMP_CLAIMS: readonly Claim[] = [
  {
    id: "no-shared-io",
    sharesTurn: true,
    promise: "An agent cannot use up the machine-wide asynchronous I/O contexts, and has no io_uring.",
    protections: ["seccomp"],
    probes: [
      inPerl("create an asynchronous I/O context", 'my $context = pack("Q", 0); tried(call("io_setup", 1, $context));'),
      inPerl(
        "set up io_uring, which bypasses seccomp",
        `if (open(my $setting, "<", "/proc/sys/kernel/io_uring_disabled")) {
          untried("${NOT_IN_THIS_KERNEL} io_uring for ordinary users") if <$setting> > 0;
        }
        my $parameters = "\\0" x 120; tried(call("io_uring_setup", 1, $parameters));`,
      ),
    ],
  },
  {
    id: "no-other-sockets",
    sharesTurn: true,
    promise:
      "An agent can open only Unix sockets and those of TCP, UDP and pings, and read its own network's routes by netlink.",
    protections: ["seccomp"],
    probes: [
      inPerl("connect to the hypervisor (AF_VSOCK)", scriptSocket(40, 1, 0)),
      inPerl("connect to it from a 32-bit program", callFrom32Bits),
      inPerl("use the kernel's crypto API (AF_ALG)", scriptSocket(38, 5, 0)),
      inPerl("receive the host's device events (uevents)", scriptSocket(16, 3, 15)),
      inPerl("configure kernel subsystems (generic netlink)", scriptSocket(16, 3, 16)),
      inPerl("use SCTP, whose module the kernel may load", scriptSocket(2, 1, 132)),
      inPerl("use SCTP without its number", scriptSocket(10, 5, 0)),
      inPerl("use DCCP without its number", scriptSocket(2, 6, 0)),
      inPerl("use MPTCP", scriptSocket(2, 1, 262)),
      inPerl("use UDP-Lite", scriptSocket(10, 2, 136)),
    ],
  },
];

// A kernel without the family answers 97, and one without the protocol 93 or 94.
function scriptSocket(family: number, type: number, protocol: number): string {
  return `socket(my $socket, ${family}, ${type}, ${protocol}) and through("opened");
  untried("${NOT_IN_THIS_KERNEL} such socket") if grep { $_ == $! + 0 } 93, 94, 97;
  tried(-1);`;
}

const ELF32 =
  "7f454c46010101000000000000000000020003000100000054800408340000000000000000000000340020000100000000000000" +
  "0100000000000000008004080080040870000000700000000500000000100000";
// socket(AF_VSOCK, SOCK_STREAM, 0); exit(result)
const OPEN_VSOCK = "b867010000bb28000000b90100000031d2cd8089c3b801000000cd80";

function callFrom32Bits(): string {
  return `
  untried("${NOT_IN_THIS_KERNEL} 32-bit programs of this kind") if $column != 0;
  open(my $file, ">", "/tmp/program"); print $file pack("H*", "${ELF32}${OPEN_VSOCK}"); close $file;
  chmod 0755, "/tmp/program";
  my $status = do { no warnings; system("/tmp/program") };
  untried("${NOT_IN_THIS_KERNEL} 32-bit programs") if $status == -1;
  held("it was killed for the call") if $status & 127;
  my $result = $status >> 8;
  untried("${NOT_IN_THIS_KERNEL} such socket") if $result == 256 - 97;
  $result < 128 ? through("opened") : held("error " . (256 - $result));`;
}
