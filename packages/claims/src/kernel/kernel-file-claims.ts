import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import { NOT_IN_THIS_KERNEL } from "../probe/verdicts.ts";

// Files are only opened for writing: once a probe gets through, they are the real machine's.
export const KERNEL_FILE_CLAIMS: readonly Claim[] = [
  {
    id: "no-kernel-settings",
    sharesTurn: true,
    promise: "An agent cannot change kernel settings in /proc.",
    protections: ["masked-paths", "user", "apparmor"],
    probes: [
      inSandbox("send a SysRq command", scriptOpen("/proc/sysrq-trigger")),
      inSandbox("have the host run a program on a crash (core_pattern)", scriptOpen("/proc/sys/kernel/core_pattern")),
      inSandbox("change memory overcommit", scriptOpen("/proc/sys/vm/overcommit_memory")),
      inSandbox("reveal kernel addresses (kptr_restrict)", scriptOpen("/proc/sys/kernel/kptr_restrict")),
      inSandbox("allow hard links to other users' files", scriptOpen("/proc/sys/fs/protected_hardlinks")),
      inSandbox("change interrupt affinity", scriptOpen("/proc/irq/default_smp_affinity")),
    ],
  },
  {
    id: "no-kernel-secrets",
    sharesTurn: true,
    promise: "An agent cannot read kernel memory, timers or keys in /proc.",
    protections: ["masked-paths", "user", "capabilities", "apparmor"],
    probes: [
      inSandbox("read the kernel's memory", scriptRead("/proc/kcore")),
      inSandbox("read the kernel's timers", scriptRead("/proc/timer_list")),
      inSandbox("list keys", scriptRead("/proc/keys")),
    ],
  },
  {
    id: "no-system-settings",
    sharesTurn: true,
    promise: "An agent cannot change kernel objects in /sys or its own cgroup limits.",
    protections: ["user", "capabilities", "seccomp", "apparmor"],
    probes: [
      inPerl("write to /sys", writeSys),
      inPerl("leave its cgroup", writeCgroup),
      inPerl("have the host run a program when a cgroup empties (release_agent)", releaseAgent),
    ],
  },
];

function scriptOpen(path: string): string {
  return `[ -e ${path} ] || untried "${NOT_IN_THIS_KERNEL} ${path}"
    said=$( ( : >>${path} ) 2>&1 ) && through "opened for writing"; held "$said"`;
}

function scriptRead(path: string): string {
  return `[ -e ${path} ] || untried "${NOT_IN_THIS_KERNEL} ${path}"
    said=$( { head -c 64 ${path} | wc -c; } 2>&1 )
    case $said in [1-9]*) through "$said bytes";; *) held "$said bytes";; esac`;
}

// First tries to remount the file system writable.
function openFirst(): string {
  return `
  sub open_first {
    my ($mount, @paths) = @_;
    my ($none, $type) = ("none", "");
    call("mount", $none, $mount, $type, $_, 0) for 0x20, 0x1020;
    my ($path) = grep { -e $_ } @paths;
    untried("${NOT_IN_THIS_KERNEL} $paths[0]") unless defined $path;
    sysopen(my $file, $path, 1) ? through("$path opened for writing") : tried(-1);
  }`;
}

function writeSys(): string {
  return `${openFirst()}
  open_first("/sys", map { "/sys/kernel/$_" } qw(uevent_helper profiling mm/transparent_hugepage/enabled rcu_expedited));`;
}

function writeCgroup(): string {
  return `${openFirst()}
  my ($mount) = grep { -e "$_/cgroup.procs" } qw(/sys/fs/cgroup/memory /sys/fs/cgroup);
  untried("no cgroups are visible") unless defined $mount;
  open_first($mount, "$mount/cgroup.procs");`;
}

// cgroup v2 has no release_agent; there, the whole hierarchy must stay out of reach.
function releaseAgent(): string {
  return `
  my ($none, $place, $data) = ("none", "/tmp/groups", "memory");
  mkdir $place;
  for my $version ("cgroup", "cgroup2") {
    my $type = $version;
    my $mounted = call("mount", $none, $place, $type, 0, $type eq "cgroup" ? $data : 0);
    next if $mounted == -1 && $type eq "cgroup" && $! + 0 != 1 && $! + 0 != 13;
    tried($mounted) if $mounted == -1;
    my ($file) = grep { -e $_ } ("$place/release_agent", "$place/cgroup.procs");
    sysopen(my $opened, $file, 1) ? through("$file opened for writing") : tried(-1);
  }`;
}
