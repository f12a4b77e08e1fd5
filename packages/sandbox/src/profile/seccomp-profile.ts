// Calls that are harmless with any argument. Docker's list also has the 32-bit calls, asynchronous I/O, which has one limit for the whole
// machine, and io_uring, which bypasses every rule below.
const PLAIN = `
  accept accept4 access adjtimex alarm arch_prctl bind brk cachestat capget capset chdir chown clock_adjtime
  clock_getres clock_gettime clock_nanosleep close close_range connect copy_file_range dup dup2 dup3 epoll_create
  epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group
  faccessat faccessat2 fadvise64 fallocate fchdir fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork
  fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake
  futimesat get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername
  getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname
  getsockopt gettid gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init inotify_init1
  inotify_rm_watch ioctl ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self
  lchown lgetxattr link linkat listen listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat
  madvise map_shadow_stack membarrier memfd_create mincore mkdir mkdirat mlock mlock2 mlockall mmap mprotect
  mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd
  msync munlock munlockall munmap nanosleep newfstatat pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc
  pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv
  process_vm_writev pselect6 ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom
  recvmmsg recvmsg remap_file_pages removexattr removexattrat rename renameat renameat2 restart_syscall rmdir rseq
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
  sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
  sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list
  set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid
  setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack
  signalfd signalfd4 splice stat statfs statmount statx symlink symlinkat sync sync_file_range syncfs sysinfo tee
  tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime
  timerfd_settime times tkill truncate umask uname unlink unlinkat uretprobe utime utimensat utimes vfork vmsplice
  wait4 waitid write writev
`;

const O_CREAT_OR_TMPFILE = 0o100 | 0o20000000;
const SETUID = 0o4000;
const NEW_NAMESPACES = 0x7e020000;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
const NETLINK_ROUTE = 0;
const [SOCK_STREAM, SOCK_DGRAM] = [1, 2];
// The rest of a socket's type are flags.
const TYPE_BITS = 0xf;
const [ICMP, TCP, UDP, ICMP_V6] = [1, 6, 17, 58];
const ENOSYS = 38;

/**
 * The seccomp profile of all containers that run something, in the engines' form. Derived from Docker's default profile (Apache-2.0, Docker, Inc.), for a container
 * without capabilities. Other calls fail with EPERM, and a 32-bit program, whose calls have other numbers, is killed.
 */
export const SECCOMP_PROFILE = JSON.stringify({
  defaultAction: "SCMP_ACT_ERRNO",
  archMap: ["X86_64", "AARCH64"].map((name) => ({ architecture: `SCMP_ARCH_${name}`, subArchitectures: [] })),
  syscalls: [
    allow(PLAIN.trim().split(/\s+/)),
    allow(["clone"], without(0, NEW_NAMESPACES)),
    // No namespace isolates most other socket families.
    allow(["socket"], equal(0, AF_UNIX)),
    // Other types and protocols, such as SCTP, DCCP and SMC, reach code of the kernel that few look at, and may load it.
    ...[AF_INET, AF_INET6].flatMap((family) => [
      ...allowSockets(family, SOCK_STREAM, [0, TCP]),
      ...allowSockets(family, SOCK_DGRAM, [0, UDP, ICMP, ICMP_V6]),
    ]),
    allow(["socket"], equal(0, AF_NETLINK), equal(2, NETLINK_ROUTE)),
    allow(["socketpair"], equal(0, AF_UNIX)),
    // Sets persona 0, or queries the current one.
    ...[0, 0xffffffff].map((persona) => allow(["personality"], equal(0, persona))),
    // No setuid modes, since the host sees the workspace's files. Setgid is allowed: a filter cannot tell files from folders.
    allow(["fchmod"], without(1, SETUID)),
    allow(["fchmodat", "fchmodat2", "mknodat"], without(2, SETUID)),
    allow(["openat"], without(3, SETUID)),
    allow(["openat"], without(2, O_CREAT_OR_TMPFILE)),
    onX86(allow(["chmod", "creat", "mknod"], without(1, SETUID))),
    onX86(allow(["open"], without(2, SETUID))),
    onX86(allow(["open"], without(1, O_CREAT_OR_TMPFILE))),
    // Their arguments are in memory, which seccomp cannot read. Programs fall back to the older calls.
    { names: ["clone3", "openat2"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  ],
});

type Condition = Readonly<Record<"index" | "value" | "valueTwo", number>> & { readonly op: string };

/** Returns a rule that allows calls if all conditions hold. One of several rules for a call is sufficient. */
function allow(names: readonly string[], ...args: readonly Condition[]) {
  return { names, action: "SCMP_ACT_ALLOW", args };
}

/** Returns the rules for sockets of a type, whatever its flags. */
function allowSockets(family: number, type: number, protocols: readonly number[]) {
  const isOfType = { index: 1, value: TYPE_BITS, valueTwo: type, op: "SCMP_CMP_MASKED_EQ" };
  return protocols.map((protocol) => allow(["socket"], equal(0, family), isOfType, equal(2, protocol)));
}

function equal(index: number, value: number): Condition {
  return { index, value, valueTwo: 0, op: "SCMP_CMP_EQ" };
}

function without(index: number, bits: number): Condition {
  return { index, value: bits, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" };
}

/** Restricts a rule to x86-64, for calls that aarch64 lacks. */
function onX86(rule: ReturnType<typeof allow>) {
  return { ...rule, includes: { arches: ["amd64"] } };
}
