import type { Access } from "@budgie/core/policy";
import type { Claim, Verdict } from "../probe/claim.ts";
import { inPerl, inSandbox, type ScriptOptions } from "../probe/in-sandbox.ts";
import type { Ran } from "../lab/collect.ts";

const MIB = 1024 ** 2;

// The kernel looks for memory to reclaim before it kills, for 12 s on an idle machine (200,000 files, cgroup v1).
const KILL_LIMIT_MS = 120_000;

// Every attack stops by itself, far beyond its limit and far below what would hurt a machine.
export const RESOURCE_CLAIMS: readonly Claim[] = [
  {
    id: "bounded-processes",
    promise: "A fork bomb stops at the process limit.",
    protections: ["pids-limit"],
    probes: [
      inPerl("fork 300 processes where 64 are allowed", forkBomb, limitedTo({ pids: 64 })),
      inSandbox("start 300 programs where 64 are allowed", startPrograms, {
        ...limitedTo({ pids: 64 }),
        silent: ({ stderr }) => (/fork/i.test(stderr) ? { outcome: "held", detail: stderr.trim() } : undefined),
      }),
    ],
  },
  {
    id: "bounded-memory",
    promise:
      "A process that exceeds the memory limit is killed. Swap and temporary files count; on cgroup v1, data in sockets does not.",
    protections: ["memory-limit"],
    probes: [
      inPerl(
        "use 256 MiB where 128 are allowed",
        'my $all = "x" x (256 << 20); through(length $all);',
        killed(128 * MIB),
      ),
      inSandbox(
        "have a tool use as much",
        `size=$(head -c 268435456 /dev/zero | tail -c 268435000 | wc -c)
        [ "$size" -gt 0 ] && through "$size bytes"; held "the tool was killed"`,
        killed(128 * MIB),
      ),
      inSandbox("use as much for files in /tmp", scriptFill("/tmp", 256), killed(128 * MIB)),
      inPerl("use 64 MiB for 200,000 empty files", manyFiles, killed(64 * MIB)),
      inSandbox("use 60 MiB of shared memory where 32 are allowed", scriptFill("/dev/shm", 60), killed(32 * MIB)),
    ],
  },
  {
    id: "bounded-temporary-files",
    promise: "An agent's temporary folders have a fixed size.",
    protections: ["tmpfs-size"],
    probes: [
      inSandbox("write more than 512 MiB to /tmp", scriptFill("/tmp", 540), killed()),
      inSandbox("write more than 64 MiB to /var/tmp", scriptFill("/var/tmp", 80), killed()),
      inSandbox("write more than 64 MiB to /dev/shm", scriptFill("/dev/shm", 80), killed()),
    ],
  },
  {
    id: "bounded-user-shares",
    promise: "An agent can use only part of its user's timers, message queues, locked memory and file descriptors.",
    protections: ["user-shares"],
    sharesTurn: true,
    probes: [
      inPerl("create 2,000 timers where 1,024 are allowed", makeTimers),
      inPerl("create message queues of 500 KiB where 256 are allowed", makeQueues),
      inPerl("lock 1 MiB of shared memory where 64 KiB are allowed", lockMemory),
      inPerl("open 17,000 files where 16,384 are allowed", openFiles),
    ],
  },
  {
    id: "bounded-cpu",
    promise: "An agent gets no more CPU time than its limit.",
    protections: ["cpu-limit"],
    probes: [inPerl("use a tenth of a CPU where a fiftieth is allowed", compute, limitedTo({ cpus: 0.02 }))],
  },
];

function limitedTo(limits: Access["limits"]): ScriptOptions {
  return { access: { limits } };
}

/** Returns options that judge a turn which ended without a report as held if it was killed, but not by budgie. */
function killed(memoryBytes?: number): ScriptOptions {
  const silent = ({ exit }: Ran): Verdict | undefined => {
    if (exit.oomKilled) return { outcome: "held", detail: "it was killed for its memory use" };
    // Podman 4 reports no reason on cgroup v1 if memory runs out for the first process too.
    const wasKilled = exit.signal === "SIGKILL" && exit.reason === undefined;
    return wasKilled ? { outcome: "held", detail: "it was killed" } : undefined;
  };
  return { ...limitedTo(memoryBytes === undefined ? {} : { memoryBytes }), silent, limitMs: KILL_LIMIT_MS };
}

// Processes that an attack leaves would hold its output open, and with that its end.
function forkBomb(): string {
  return `for my $count (1 .. 300) {
      my $child = fork;
      held("$count: $!") unless defined $child;
      if (!$child) { close STDOUT; close STDERR; sleep 20; exit }
    }
    through("300 processes");`;
}

function startPrograms(): string {
  return `count=0
    while [ $count -lt 300 ]; do sleep 20 >/dev/null 2>&1 & count=$((count + 1)); done
    through "300 programs"`;
}

function manyFiles(): string {
  return `mkdir "/tmp/many";
    for my $count (1 .. 200_000) { open(my $file, ">", "/tmp/many/$count") or held("$count: $!") }
    through("200,000 files");`;
}

function makeTimers(): string {
  return `for my $count (1 .. 2000) {
      my $timer = pack("L", 0);
      held("$count: $!") if call("timer_create", 1, 0, $timer) == -1;
    }
    through("2,000 timers");`;
}

// Each takes 80 KiB and the kernel's overhead.
function makeQueues(): string {
  return `my $attributes = pack("q8", 0, 10, 8192, 0, 0, 0, 0, 0);
    for my $count (1 .. 6) {
      my $name = "share-$count";
      held("$count: $!") if call("mq_open", $name, 0102, 0600, $attributes) == -1;
    }
    through("6 queues");`;
}

// The segment is removed with the sandbox's IPC namespace.
function lockMemory(): string {
  return `my $memory = call("shmget", 0, 1 << 20, 0600);
    untried("$!") if $memory == -1;
    my $result = call("shmctl", $memory, 11, 0);
    $result == -1 ? held("$!") : through("locked");`;
}

function openFiles(): string {
  return `my @files;
    for my $count (1 .. 17_000) { open($files[$count], "<", "/dev/null") or held("$count: $!") }
    through("17,000 files");`;
}

function scriptFill(folder: string, mebibytes: number): string {
  return `[ -d ${folder} ] || untried "there is no ${folder}"
    said=$(head -c ${mebibytes * MIB} /dev/zero 2>&1 >${folder}/fill) && through "${mebibytes} MiB"
    held "$said"`;
}

// A busy machine gives little CPU time even without a limit. So the kernel's throttle count decides, which may take many of its periods
// there, and the share only where there is no such count.
function compute(): string {
  return `use Time::HiRes ();
    my ($file) = grep { -r $_ } map { "/sys/fs/cgroup/$_" } qw(cpu/cpu.stat cpu,cpuacct/cpu.stat cpu.stat);
    my $share;
    for my $window (1 .. defined $file ? 20 : 3) {
      my ($begin, $user, $system) = (Time::HiRes::time(), times);
      1 while Time::HiRes::time() - $begin < 1;
      $share = ((times)[0] + (times)[1] - $user - $system) / (Time::HiRes::time() - $begin);
      through("$share of a CPU") if $share > 0.1;
      next unless defined $file && open(my $counts, "<", $file);
      held("throttled $1 times") if join("", <$counts>) =~ /^nr_throttled ([1-9]\\d*)/m;
    }
    defined $file ? through("never throttled") : held("$share of a CPU");`;
}
