import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { POD } from "../../src/requests/index.ts";
import { startPods, type TestPod } from "../helpers/start-pods.ts";

const [EPERM, ENOENT, EACCES, EBUSY, EXDEV, EROFS, ECONNREFUSED, EINPROGRESS] = [1, 2, 13, 16, 18, 30, 111, 115];
const FORBIDDEN = [EPERM, EACCES, EROFS];
const DONE = [0];
/** An attempt in Perl, its results in the jail, and without the jail around its network if these differ: 0 if it succeeded, or the error. */
type Attempt = readonly [name: string, script: string, inJail: readonly number[], without?: readonly number[]];

const toAddress = (port: number) => `pack_sockaddr_in(${port}, inet_aton($ENV{NODE}))`;
const SENT = [0, EINPROGRESS];
const NETWORK: readonly Attempt[] = [
  ["the node's kubelet", `tcp() && connect($s, ${toAddress(10_250)})`, [EACCES], DONE],
  ["the API server", `tcp() && connect($s, ${toAddress(6443)})`, [EACCES], DONE],
  [
    "the node by an address of IPv6",
    `socket($s, 10, 1, 0) && connect($s, pack("SnLa16L", 10, 10250, 0, "\\0" x 10 . "\\xff\\xff" . inet_aton($ENV{NODE}), 0))`,
    [EACCES],
    DONE,
  ],
  [
    "a connection that replaces one",
    `tcp() && listens(0) && connect($s, $own) && connect($s, pack("Sx14", 0)) && connect($s, ${toAddress(10_250)})`,
    [EACCES],
    DONE,
  ],
  ["the metadata of clouds", 'tcp() && connect($s, pack_sockaddr_in(80, inet_aton("169.254.169.254")))', [EACCES]],
  ["a datagram", `socket($s, 2, 2, 0) && send($s, "x", 0, ${toAddress(53)})`, [EACCES], DONE],
  ["fast open by sendto", `tcp() && send($s, "x", 0x20000000, ${toAddress(10_250)})`, [EACCES], SENT],
  ["fast open by sendmsg", `tcp() && sent(syscall(46, fileno($s), $m = message(), 0x20000000))`, [EACCES], SENT],
  [
    "fast open by sendmmsg",
    `tcp() && sent(syscall(307, fileno($s), $m = message() . pack("Lx4", 0), 1, 0x20000000))`,
    [EACCES],
    SENT,
  ],
  ["an upper protocol", 'tcp() && setsockopt($s, 6, 31, "smc")', [EACCES], [ENOENT]],
  ["io_uring", "sent(syscall(425, 8, $b = pack('x120')))", [EPERM, EACCES]],
  ["a network of its own", "sent(syscall(272, 0x40000000))", [EPERM]],
  ["a user namespace", "sent(syscall(272, 0x10000000))", [EPERM]],
  ["its own server on an ephemeral port", "tcp() && listens(0) && connect($s, $own)", DONE],
  ["its own server on another port", "tcp() && listens(8080) && connect($s, $own)", [EACCES], DONE],
  ["the proxy", 'tcp() && connect($s, pack_sockaddr_in(3128, inet_aton("127.0.0.1")))', DONE],
];
const write = (path: string) => `open($f, ">>", "${path}")`;
const OTHERS: readonly Attempt[] = [
  ...["mem", "environ", "maps", "fd/0", "root/etc/passwd"].map((file): Attempt => [
    `${file} of process 1`,
    `open($f, "<", "/proc/1/${file}")`,
    FORBIDDEN,
  ]),
  ["a trace of process 1", "sent(syscall(101, 16, 1, 0, 0))", FORBIDDEN],
  [
    "the memory of process 1",
    "sent(syscall(310, 1, $a = pack('PQ', $s = ' ' x 8, 8), 1, $b = pack('QQ', 0x400000, 8), 1, 0))",
    FORBIDDEN,
  ],
  ["a file of process 1", "($f = syscall(434, 1, 0)) >= 0 && sent(syscall(438, $f, 3, 0))", FORBIDDEN],
  ["a signal to process 1", "kill('KILL', 1)", FORBIDDEN],
  [
    "processes that are not its own",
    "opendir($f, '/proc') && !grep({ /^\\d+$/ && $_ != 1 && $_ != $$ && $_ != getppid() } readdir($f))",
    DONE,
  ],
  [
    "hold's socket",
    'socket($s, 1, 1, 0) && connect($s, pack_sockaddr_un("/budgie/hold.sock"))',
    [ENOENT, ECONNREFUSED],
  ],
  ["the sidecar's socket", 'socket($s, 1, 1, 0) && connect($s, pack_sockaddr_un("/scratch/wire"))', [ENOENT]],
  ["the program of hold", write("/budgie/hold"), FORBIDDEN],
  ["a file beside it", write("/budgie/new"), FORBIDDEN],
  ["the removal of its profile", 'unlink("/budgie/profile.bpf")', FORBIDDEN],
  ["a file of the image", write("/etc/passwd"), FORBIDDEN],
  ["a file in the image", write("/new"), FORBIDDEN],
  ["the login's folder", write("/auth/new"), FORBIDDEN],
  ...["/tmp", "/dev/shm", "/home/agent", "/workspace"].map((folder): Attempt => [folder, write(`${folder}/new`), DONE]),
  ["a mount", "sent(syscall(165, $a = '/tmp', $b = '/home', $c = '', 4096, $c))", [EPERM]],
  ["a device", "sent(syscall(133, $a = '/tmp/device', 0060666, 0xfe00))", [EPERM]],
  ["another user", "sent(syscall(105, 0))", [EPERM]],
  ["a setting of the kernel", write("/proc/sys/kernel/core_pattern"), FORBIDDEN],
  ["a token of the API", "!-e '/var/run/secrets/kubernetes.io' && !-e '/run/secrets/kubernetes.io'", DONE],
  ["the API's address", "!grep({ /^KUBERNETES_/ } keys %ENV)", DONE],
];
const END: readonly Attempt[] = [
  ["the termination file", "-f '/budgie-end' && !-e '/dev/termination-log'", DONE],
  ["its content", write("/budgie-end"), [EACCES]],
  ["its content by another path", write("/proc/self/root/budgie-end"), [EACCES]],
  ["its length", "truncate('/budgie-end', 0)", [EACCES]],
  ["its mode", "chmod(0666, '/budgie-end')", [EPERM]],
  ["its removal", "unlink('/budgie-end')", [...FORBIDDEN, EBUSY]],
  ["another name", "rename('/budgie-end', '/tmp/end')", [...FORBIDDEN, EBUSY, EXDEV]],
  ["a second name", "link('/budgie-end', '/tmp/end')", [...FORBIDDEN, EXDEV]],
];

const PRELUDE = `
  use Socket;
  sub tcp { socket($s, 2, 1, 0) }
  sub listens { socket($l, 2, 1, 0) && bind($l, pack_sockaddr_in($_[0], inet_aton("127.0.0.1"))) && listen($l, 1) && ($own = getsockname($l)) }
  sub sent { $_[0] >= 0 }
  sub message { $to = ${toAddress(10_250)}; $byte = "x"; $part = pack("PQ", $byte, 1); pack("PLx4PQQQLx4", $to, 16, $part, 1, 0, 0, 0) }
  sub attempt { my ($name, $try) = @_; my $child = fork();
    if ($child == 0) { alarm(8); $! = 0; exit($try->() ? 0 : $! + 0 || 255) }
    waitpid($child, 0); print "$name\\t", $? & 127 ? "signal " . ($? & 127) : $? >> 8, "\\n" }
  $| = 1;`;
const toProgram = (attempts: readonly Attempt[]): string =>
  [PRELUDE, ...attempts.map(([name, script]) => `attempt("${name}", sub { ${script} });`)].join("\n");

/** Lists which sockets a process can make, as "family type protocol". */
const SWEEP = `for $f (0..50) { for $t (1..10) { for $p (0..270, 65535) { print "$f $t $p\\n" if syscall(41, $f, $t, $p) >= 0 && syscall(3, 3) == 0 } } }`;
// UNIX sockets, netlink of routes, and TCP. Linux makes a UNIX datagram socket where a raw one was asked for.
const ALLOWED = [
  ...[1, 2, 3, 5].flatMap((type) => [`1 ${type} 0`, `1 ${type} 1`]),
  ...[2, 10].flatMap((family) => [`${family} 1 0`, `${family} 1 6`]),
  ...[2, 3].map((type) => `16 ${type} 0`),
].toSorted();

const lack = findClusterLack() ?? (process.arch === "x64" ? undefined : "its system calls are those of x86-64");

describe.skipIf(lack !== undefined)(
  `a hostile agent in a Pod${lack === undefined ? "" : ` (skipped: ${lack})`}`,
  () => {
    let pods: Awaited<ReturnType<typeof startPods>>;
    let pod: TestPod;

    beforeAll(async () => {
      pods = await startPods("hostile");
      pod = await pods.open();
    }, 300_000);
    afterAll(async () => {
      await pod?.remove();
      await pods?.[Symbol.asyncDispose]();
    }, 60_000);

    /** Makes attempts in one process, and resolves to their results. */
    async function make(attempts: readonly Attempt[], ports: readonly number[] | undefined) {
      const env = { NODE: pod.nodeAddress ?? "" };
      const { stdout, stderr } = await pod.run({ argv: ["perl", "-e", toProgram(attempts)], env, ports });
      expect(stderr).toBe("");
      return new Map(
        stdout
          .trim()
          .split("\n")
          .map((line) => line.split("\t") as [string, string]),
      );
    }
    async function check(attempts: readonly Attempt[]): Promise<void> {
      const others = attempts.filter(([, , , without]) => without !== undefined);
      const jailed = await make(attempts, [3128]);
      const bare = others.length === 0 ? new Map<string, string>() : await make(others, undefined);
      for (const [name, , inJail, without] of attempts) {
        expect.soft(inJail.map(String), name).toContain(jailed.get(name));
        if (without !== undefined)
          expect.soft(without.map(String), `${name}, without the jail`).toContain(bare.get(name));
      }
    }

    it("reaches nothing but its own servers and the proxy", () => check(NETWORK));

    it("can make sockets of UNIX, route netlink and TCP only", async () => {
      const list = async (ports: readonly number[] | undefined) =>
        (await pod.run({ argv: ["perl", "-e", SWEEP], ports })).stdout.trim().split("\n").toSorted();

      expect(await list([3128])).toEqual(ALLOWED);
      expect(await list(undefined)).toContain("2 2 17");
    });

    it("reaches no other process, no file of hold or the sidecar, and no volume that is not its own", () =>
      check(OTHERS));

    it("cannot change the container's termination file, which a process without the jail can", async () => {
      await check(END);
      const exec = ["-n", "hostile", "exec", pod.name, "-c", POD.agent, "--", "sh", "-c"];
      const { stdout } = await pods.server.kubectl([...exec, "echo text > /budgie-end && cat /budgie-end"]);
      expect(stdout).toBe("text\n");
    });
  },
);
