import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import { NOT_IN_THIS_KERNEL } from "../probe/verdicts.ts";

// Files are opened for writing, and nothing is written: they are the machine's own once a probe gets through.
export const KERNEL_FILE_CLAIMS: readonly Claim[] = [
  {
    id: "no-kernel-settings",
    promise: "An agent cannot change the kernel's settings in /proc.",
    protections: ["masked-paths", "user", "apparmor"],
    probes: [
      inSandbox("give the kernel an emergency command", toOpenProbe("/proc/sysrq-trigger")),
      inSandbox("have the host run a program when one crashes", toOpenProbe("/proc/sys/kernel/core_pattern")),
      inSandbox("change how much memory is given away", toOpenProbe("/proc/sys/vm/overcommit_memory")),
      inSandbox("change how much it may learn of addresses", toOpenProbe("/proc/sys/kernel/kptr_restrict")),
      inSandbox("allow links to files of others", toOpenProbe("/proc/sys/fs/protected_hardlinks")),
      inSandbox("move interrupts", toOpenProbe("/proc/irq/default_smp_affinity")),
    ],
  },
  {
    id: "no-kernel-secrets",
    promise: "An agent cannot read the kernel's memory, timers and keys in /proc.",
    protections: ["masked-paths", "user", "capabilities", "apparmor"],
    probes: [
      inSandbox("read the kernel's memory", toReadProbe("/proc/kcore")),
      inSandbox("read the kernel's timers", toReadProbe("/proc/timer_list")),
      inSandbox("list keys", toReadProbe("/proc/keys")),
    ],
  },
  {
    id: "no-system-settings",
    promise: "An agent cannot change the kernel's objects in /sys, or its own limits.",
    protections: ["user", "capabilities", "seccomp", "apparmor"],
    probes: [
      inPerl("write to /sys", writeSys),
      inPerl("leave its own limits", writeCgroup),
      inPerl("have the host run a program when a group of processes ends", releaseAgent),
    ],
  },
];

function toOpenProbe(path: string): string {
  return `[ -e ${path} ] || untried "${NOT_IN_THIS_KERNEL} ${path}"
    said=$( ( : >>${path} ) 2>&1 ) && through "opened for writing"; held "$said"`;
}

function toReadProbe(path: string): string {
  return `[ -e ${path} ] || untried "${NOT_IN_THIS_KERNEL} ${path}"
    said=$( { head -c 64 ${path} | wc -c; } 2>&1 )
    case $said in [1-9]*) through "$said bytes";; *) held "$said bytes";; esac`;
}

// Whoever may remount it does.
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
  untried("no cgroups are to be seen") unless defined $mount;
  open_first($mount, "$mount/cgroup.procs");`;
}

// The second version of cgroups has no such file; there it is the whole tree that must stay out of reach.
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
