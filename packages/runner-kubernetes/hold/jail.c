/* The jail around each process of the agent: limits, Landlock, budgie's seccomp profile, and a filter of its own. */

/* Headers of Debian bookworm lack what came after Linux 6.1. */
struct ruleset {
  uint64_t files, net, scoped;
};
struct port_rule {
  uint64_t access, port;
};
enum { FIRST_ABI_OF_TRUNCATE = 3, FIRST_ABI_OF_PORTS = 4, FIRST_ABI_OF_SCOPES = 6 };
enum { CONNECT_TCP = 1 << 1, SCOPE_ABSTRACT_SOCKETS = 1 << 0, SCOPE_SIGNALS = 1 << 1, RULE_OF_PORT = 2 };
enum { WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | 1 << 14 /* truncate */, REFER = LANDLOCK_ACCESS_FS_REFER };
enum { MAKE_AND_REMOVE = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                         LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                         LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM };
enum { MOST_PORTS = 1024, MOST_INSTRUCTIONS = 4096, NO_JAIL = -1 };

static struct {
  uint32_t abi, first_port, last_port; /* as the kernel says */
  /* The rules of the last order's ports, since there are tens of thousands of them */
  int has_rules, rules;
  int32_t count;
  uint16_t ports[MOST_PORTS];
} jail;

static struct sock_filter profile[MOST_INSTRUCTIONS];
static struct sock_fprog profile_program = {.filter = profile};

#if defined(__x86_64__)
#define OWN_ARCH 0xc000003e
#elif defined(__aarch64__)
#define OWN_ARCH 0xc00000b7
#endif
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(test, value, yes, no) BPF_JUMP(BPF_JMP | BPF_##test | BPF_K, value, yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EACCES)
#define KILL RETURN(SECCOMP_RET_KILL_PROCESS)
enum { X32 = 0x40000000, FIRST_IO_URING = 425, LAST_IO_URING = 427, FAST_OPEN_CONNECT = 30, UPPER_PROTOCOL = 31 };

/* Leaves no way to another host but a connect of TCP, which Landlock sees. An upper protocol may be SMC's, which it does not. */
static struct sock_filter sockets[] = {
    LOAD(arch), IF(JEQ, OWN_ARCH, 1, 0), KILL,
    /* A tracer replaces a call by -1. */
    LOAD(nr), IF(JEQ, 0xffffffff, 2, 0), IF(JGE, X32, 0, 1), KILL,
    IF(JGE, FIRST_IO_URING, 0, 2), IF(JGT, LAST_IO_URING, 1, 0), REFUSE,
    IF(JEQ, SYS_sendto, 1, 0), IF(JEQ, SYS_sendmmsg, 0, 4),
      LOAD(args[3]), IF(JSET, MSG_FASTOPEN, 0, 1), REFUSE, ALLOW,
    IF(JEQ, SYS_sendmsg, 0, 4),
      LOAD(args[2]), IF(JSET, MSG_FASTOPEN, 0, 1), REFUSE, ALLOW,
    IF(JEQ, SYS_setsockopt, 0, 7),
      LOAD(args[1]), IF(JEQ, IPPROTO_TCP, 0, 4),
      LOAD(args[2]), IF(JEQ, FAST_OPEN_CONNECT, 1, 0), IF(JEQ, UPPER_PROTOCOL, 0, 1), REFUSE, ALLOW,
    IF(JEQ, SYS_socket, 1, 0), ALLOW,
      LOAD(args[0]), IF(JEQ, AF_UNIX, 12, 0), IF(JEQ, AF_NETLINK, 8, 0),
      IF(JEQ, AF_INET, 1, 0), IF(JEQ, AF_INET6, 0, 8),
      LOAD(args[1]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), IF(JEQ, SOCK_STREAM, 0, 5),
      LOAD(args[2]), IF(JEQ, 0, 4, 0), IF(JEQ, IPPROTO_TCP, 3, 2),
      /* The protocol of routes. */
      LOAD(args[2]), IF(JEQ, 0, 1, 0),
    REFUSE, ALLOW,
};
static const struct sock_fprog sockets_program = {sizeof sockets / sizeof *sockets, sockets};

/* Reads the profile that lies beside the socket. */
static void read_profile(const char *socket) {
  static const char name[] = "profile.bpf";
  char path[sizeof((struct sockaddr_un *)0)->sun_path + sizeof name] = {0};
  size_t folder = 0;
  for (size_t i = 0; socket[i] != 0; i++)
    if (socket[i] == '/') folder = i + 1;
  if (folder + sizeof name > sizeof path) die("hold: the path of the socket is too long\n");
  copy_bytes(path, socket, folder);
  copy_bytes(path + folder, name, sizeof name);
  long file = CALL4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  long length = file < 0 ? 0 : CALL3(read, file, profile, sizeof profile);
  if (length <= 0 || length % sizeof *profile != 0)
    die("hold: there is no seccomp profile (profile.bpf) beside its socket\n");
  close_file(file);
  profile_program.len = length / sizeof *profile;
}

static void survey_jail(void) {
  long abi = CALL3(landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const char *range = read_text("/proc/sys/net/ipv4/ip_local_port_range");
  jail.abi = abi < 0 ? 0 : abi;
  jail.first_port = read_digits(&range);
  while (*range == ' ' || *range == '\t') range++;
  jail.last_port = read_digits(&range);
  if (jail.first_port == 0 || jail.last_port > UINT16_MAX) jail.first_port = 1, jail.last_port = 0;
}

static long create_ruleset(const struct ruleset *set) {
  size_t size = jail.abi >= FIRST_ABI_OF_SCOPES ? sizeof *set : jail.abi >= FIRST_ABI_OF_PORTS ? 16 : 8;
  return CALL3(landlock_create_ruleset, set, size, 0);
}

static long allow_port(int rules, uint16_t port) {
  struct port_rule rule = {CONNECT_TCP, port};
  return CALL4(landlock_add_rule, rules, RULE_OF_PORT, &rule, 0);
}

static int has_same_ports(const struct order *order) {
  if (!jail.has_rules || jail.count != order->port_count) return 0;
  for (int i = 0; i < jail.count; i++)
    if (jail.ports[i] != order->ports[i]) return 0;
  return 1;
}

/* Makes the rules of the order's ports, unless the last order had the same. Without them no process starts. */
static void prepare_jail(const struct order *order) {
  if (order->port_count == NO_JAIL || jail.abi < FIRST_ABI_OF_PORTS || has_same_ports(order)) return;
  if (jail.has_rules) close_file(jail.rules);
  struct ruleset set = {.net = CONNECT_TCP};
  long rules = create_ruleset(&set), failed = rules < 0;
  for (uint32_t port = jail.first_port; port <= jail.last_port && !failed; port++)
    failed = allow_port(rules, port) < 0;
  for (int i = 0; i < order->port_count && !failed; i++) failed = allow_port(rules, order->ports[i]) < 0;
  if (failed) die("hold: the kernel refuses Landlock's rules for ports\n");
  jail.has_rules = 1;
  jail.rules = rules;
  jail.count = order->port_count;
  copy_bytes(jail.ports, order->ports, sizeof jail.ports);
}

static int allow_below(int rules, int folder, uint64_t access) {
  struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = folder};
  return folder < 0 || CALL4(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

static int open_folder(int from, const char *path) {
  return CALL4(openat, from, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Returns the root of the mount around the current directory, or the directory if that is the container's root. */
static int open_workspace(void) {
  struct statx found, root;
  CALL5(statx, AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &root);
  int folder = open_folder(AT_FDCWD, ".");
  for (int above = folder; above >= 0; above = open_folder(above, "..")) {
    CALL5(statx, above, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &found);
    if (found.stx_mnt_id == root.stx_mnt_id) return folder;
    if (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) return above;
  }
  return folder;
}

/*
 * Lets the process write only where the agent's files are: the container's termination file is a file of the machine,
 * which no limit covers, and the workspace may be read-only. Also keeps signals and abstract sockets among the
 * processes of the agent.
 */
static int restrict_files(const struct order *order) {
  if (jail.abi < FIRST_ABI_OF_TRUNCATE) return !order->is_read_only;
  uint64_t change = order->is_read_only ? WRITE | MAKE_AND_REMOVE : WRITE;
  int has_scopes = jail.abi >= FIRST_ABI_OF_SCOPES;
  struct ruleset set = {.files = change | REFER, .scoped = has_scopes ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0};
  static const char *const folders[] = {"/home/agent", "/tmp", "/dev", "/proc"};
  long rules = create_ruleset(&set);
  if (rules < 0 || !allow_below(rules, open_folder(AT_FDCWD, "/"), REFER)) return 0;
  for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
    if (!allow_below(rules, open_folder(AT_FDCWD, folders[i]), change)) return 0;
  if (!order->is_read_only && !allow_below(rules, open_workspace(), change)) return 0;
  return CALL3(landlock_restrict_self, rules, 0, 0) == 0;
}

static int limit(int what, uint64_t most) {
  struct rlimit now;
  if (CALL4(prlimit64, 0, what, 0, &now) < 0) return 0;
  if (now.rlim_max < most) most = now.rlim_max;
  now.rlim_cur = now.rlim_max = most;
  return CALL4(prlimit64, 0, what, &now, 0) == 0;
}

static int limit_resources(uint32_t processes) {
  return limit(RLIMIT_NOFILE, 16384) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_MEMLOCK, 64 * 1024) &&
         limit(RLIMIT_SIGPENDING, 1024) && limit(RLIMIT_MSGQUEUE, 256 * 1024) && limit(RLIMIT_NPROC, processes);
}

static int add_filter(const struct sock_fprog *program) {
  return CALL3(seccomp, SECCOMP_SET_MODE_FILTER, 0, program) == 0;
}

/* Puts the current process into the jail of the order. Returns null, or the part that the kernel refused. */
static const char *enter_jail(const struct order *order) {
  int has_net = order->port_count != NO_JAIL;
  if (!limit_resources(order->processes)) return "resource limits";
  if (CALL5(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return "no_new_privs";
  if (!restrict_files(order)) return "Landlock for files";
  if (has_net && jail.abi >= FIRST_ABI_OF_PORTS && CALL3(landlock_restrict_self, jail.rules, 0, 0) < 0)
    return "Landlock for ports";
  /* The profile allows the call that installs a filter, so either order works. */
  if (!add_filter(&profile_program)) return "budgie's seccomp profile";
  if (has_net && !add_filter(&sockets_program)) return "the seccomp filter of sockets";
  return 0;
}
