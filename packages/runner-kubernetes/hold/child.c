/* From the sidecar's order to the program of the agent. */

enum { STRINGS = 64 * 1024, NOT_RUN = 125, SIGNALS = 64 };

struct order {
  const char *directory;
  const char **arguments, **variables, **unset; /* each ends with a null */
  int32_t port_count;                           /* -1: no jail around the network */
  uint16_t ports[1024];
  uint32_t processes, is_read_only;
};

static const char *const *container_environment;
static const char *environment[STRINGS];

#include "jail.c"

static const char *texts[STRINGS];
static uint32_t used_texts;

/* Takes `count` texts from the bytes, and a null after them. Returns false if there are fewer, or too many. */
static int take_texts(const unsigned char **bytes, const unsigned char *end, uint32_t count, const char ***first) {
  if (count >= STRINGS - used_texts) return 0;
  *first = texts + used_texts;
  for (uint32_t i = 0; i < count; i++) {
    texts[used_texts++] = (const char *)*bytes;
    while (*bytes < end && **bytes != 0) (*bytes)++;
    if (*bytes == end) return 0;
    (*bytes)++;
  }
  texts[used_texts++] = 0;
  return 1;
}

/* The texts of the order are where the bytes are. */
static int read_order(const unsigned char *bytes, unsigned length, struct order *order) {
  enum { ARGUMENTS, VARIABLES, UNSET, PORTS, PROCESSES, READ_ONLY, NUMBERS };
  uint32_t number[NUMBERS];
  const unsigned char *end = bytes + length;
  const char **directory;
  if (length < sizeof number) return 0;
  for (int i = 0; i < NUMBERS; i++, bytes += 4) number[i] = read_number(bytes);
  uint32_t ports = (int32_t)number[PORTS] == NO_JAIL ? 0 : number[PORTS];
  if (number[ARGUMENTS] == 0 || ports > MOST_PORTS || end - bytes < 4 * ports) return 0;
  *order = (struct order){
      .port_count = number[PORTS], .processes = number[PROCESSES], .is_read_only = number[READ_ONLY]};
  for (uint32_t i = 0; i < ports; i++, bytes += 4) order->ports[i] = read_number(bytes);
  used_texts = 0;
  if (!take_texts(&bytes, end, 1, &directory)) return 0;
  order->directory = directory[0];
  return take_texts(&bytes, end, number[ARGUMENTS], &order->arguments) &&
         take_texts(&bytes, end, number[VARIABLES], &order->variables) &&
         take_texts(&bytes, end, number[UNSET], &order->unset) && bytes == end;
}

/* Reads a counter of the container's memory cgroup, of either version. */
static uint32_t count_kills(void) {
  static const char *const files[] = {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"};
  for (int i = 0; i < 2; i++) {
    for (const char *line = read_text(files[i]); *line != 0; line++) {
      if (starts_with(line, "oom_kill ")) return line += length_of("oom_kill "), read_digits(&line);
      while (*line != 0 && *line != '\n') line++;
      if (*line == 0) break;
    }
  }
  return 0;
}

/* Returns the length of the name in NAME=VALUE. */
static size_t length_of_name(const char *variable) {
  size_t length = 0;
  while (variable[length] != 0 && variable[length] != '=') length++;
  return length;
}

static int is_equal(const char *one, const char *other, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (one[i] != other[i]) return 0;
  return 1;
}

/* A star at the beginning or the end of a pattern stands for any text. */
static int matches(const char *variable, const char *pattern) {
  size_t name = length_of_name(variable), length = length_of(pattern);
  int is_suffix = pattern[0] == '*', is_prefix = length > 1 && pattern[length - 1] == '*';
  if (is_suffix) pattern++, length--;
  if (is_prefix) length--;
  if (name < length || (!is_suffix && !is_prefix && name != length)) return 0;
  if (is_suffix && is_prefix) {
    for (size_t at = 0; at + length <= name; at++)
      if (is_equal(variable + at, pattern, length)) return 1;
    return 0;
  }
  return is_equal(is_suffix ? variable + name - length : variable, pattern, length);
}

static int is_replaced(const char *variable, const struct order *order) {
  size_t name = length_of_name(variable);
  for (const char **it = order->variables; *it; it++)
    if (length_of_name(*it) == name && is_equal(*it, variable, name)) return 1;
  /* The first pattern that matches decides; one with a mark before it keeps the variable. */
  for (const char **it = order->unset; *it; it++) {
    int is_kept = **it == '!';
    if (matches(variable, *it + is_kept)) return !is_kept;
  }
  return 0;
}

/* Returns the PATH of the environment that it makes. */
static const char *make_environment(const struct order *order) {
  const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  unsigned count = 0;
  for (const char *const *it = container_environment; *it && count < STRINGS - 1; it++)
    if (!is_replaced(*it, order)) environment[count++] = *it;
  for (const char **it = order->variables; *it && count < STRINGS - 1; it++) environment[count++] = *it;
  for (unsigned i = 0; i < count; i++)
    if (starts_with(environment[i], "PATH=")) path = environment[i] + 5;
  return path;
}

/* The container's first process has signals blocked or ignored that programs rely on. */
static void reset_signals(void) {
  static const unsigned long none, ignored_size = sizeof none;
  static const long by_default[4];
  for (int signal = 1; signal <= SIGNALS; signal++) CALL4(rt_sigaction, signal, by_default, 0, ignored_size);
  CALL4(rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
}

__attribute__((noreturn)) static void refuse(const char *what, const char *why) {
  say(2, what);
  say(2, why);
  CALL3(exit_group, NOT_RUN, 0, 0);
  __builtin_unreachable();
}

/* Becomes the program of that name in one of the folders of the PATH. Returns only if there is none. */
static void run_in_path(const struct order *order, const char *path) {
  char file[4096];
  const char *name = order->arguments[0];
  size_t name_length = length_of(name);
  for (;; path++) {
    size_t length = 0;
    while (path[length] != 0 && path[length] != ':') length++;
    if (length + name_length + 2 <= sizeof file) {
      copy_bytes(file, path, length);
      if (length > 0) file[length] = '/';
      copy_bytes(file + length + (length > 0), name, name_length + 1);
      CALL3(execve, file, order->arguments, environment);
    }
    path += length;
    if (*path == 0) return;
  }
}

/* Becomes the program of the order, with its environment and that of the container. */
__attribute__((noreturn)) static void execute(const struct order *order) {
  const char *name = order->arguments[0], *path = make_environment(order);
  int has_slash = 0;
  for (const char *it = name; *it != 0; it++) has_slash |= *it == '/';
  if (has_slash) CALL3(execve, name, order->arguments, environment);
  else if (*name != 0) run_in_path(order, path);
  refuse(name, ": not found in the sandbox\n");
}

/* Turns a new child of process 1 into the program of the order. */
__attribute__((noreturn)) static void become(const struct order *order, const int inner[3]) {
  for (int standard = 0; standard < 3; standard++) CALL3(dup3, inner[standard], standard, 0);
  CALL3(setsid, 0, 0, 0);
  reset_signals();
  if (CALL3(chdir, order->directory, 0, 0) < 0) refuse(order->directory, ": no such folder in the sandbox\n");
  const char *refused = enter_jail(order);
  if (refused) refuse(refused, ": the kernel refused this part of the jail\n");
  execute(order);
}
