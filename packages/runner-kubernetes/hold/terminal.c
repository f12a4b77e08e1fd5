/*
 * hold terminal COLUMNS ROWS PROGRAM [ARGUMENT...]: runs a program on a terminal of its own, and ends with its exit code,
 * or 128 and the number of the signal that ended it. It is itself a process of the agent, in the jail. Its stdout is what
 * the terminal shows. Its stdin is messages: a byte of kind, a length of 16 bits, and as many bytes. `i` has what was
 * typed, `s` the columns and rows of a new size, 16 bits each. The end of stdin hangs the terminal up.
 */
#include <sys/ioctl.h>

enum { KEY_HEADER = 3, SIZE = 4, MOST_DRAINS = 256, BY_SIGNAL = 128 };

static struct {
  unsigned char message[KEY_HEADER + UINT16_MAX];
  unsigned got; /* bytes of the message */
  unsigned at;  /* where the bytes begin that the terminal has not taken; 0: the message is not whole */
} keys;

static unsigned read_short(const unsigned char *bytes) { return bytes[0] | bytes[1] << 8; }

static void set_size(int file, unsigned columns, unsigned rows) {
  struct winsize size = {.ws_col = columns, .ws_row = rows};
  CALL3(ioctl, file, TIOCSWINSZ, &size);
}

/* Reads what is there of a message. Returns false at the end of stdin. */
static int read_keys(int file) {
  unsigned whole = KEY_HEADER + (keys.got < KEY_HEADER ? 0 : read_short(keys.message + 1));
  long length = CALL3(read, 0, keys.message + keys.got, whole - keys.got);
  if (length <= 0) return length == -EAGAIN || length == -EINTR;
  keys.got += length;
  if (keys.got < KEY_HEADER || keys.got < KEY_HEADER + read_short(keys.message + 1)) return 1;
  char kind = keys.message[0];
  if (kind == 'i') keys.at = KEY_HEADER;
  else if (kind != 's' || keys.got != KEY_HEADER + SIZE) die("hold: not a message for a terminal\n");
  else set_size(file, read_short(keys.message + KEY_HEADER), read_short(keys.message + KEY_HEADER + 2));
  if (kind == 's' || keys.got == KEY_HEADER) keys.got = keys.at = 0;
  return 1;
}

/* Types what the terminal takes of a message. One that nobody has open any more takes nothing. */
static void type_keys(int file) {
  long length = CALL3(write, file, keys.message + keys.at, keys.got - keys.at);
  if (length == -EAGAIN || length == -EINTR) return;
  keys.at = length < 0 ? keys.got : keys.at + length;
  if (keys.at == keys.got) keys.got = keys.at = 0;
}

/* Shows what the terminal has. Returns false once it has nothing more. */
static int show(int file) {
  static unsigned char bytes[4096];
  long length = CALL3(read, file, bytes, sizeof bytes);
  for (long at = 0, put; at < length; at += put) {
    put = CALL3(write, 1, bytes + at, length - at);
    if (put == -EINTR) put = 0;
    else if (put <= 0) die("hold: nobody reads the terminal\n");
  }
  return length > 0 || length == -EINTR;
}

__attribute__((noreturn)) static void become_on(int terminal, const char *const *words) {
  static const char *none[] = {0};
  static struct order order;
  order = (struct order){.arguments = (const char **)words, .variables = none, .unset = none};
  CALL3(setsid, 0, 0, 0);
  CALL3(ioctl, terminal, TIOCSCTTY, 0);
  for (int standard = 0; standard < 3; standard++) CALL3(dup3, terminal, standard, 0);
  reset_signals();
  execute(&order);
}

static int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status); }

__attribute__((noreturn)) static void terminal(const char *columns, const char *rows, const char *const *words) {
  static const unsigned long awaited = 1UL << (SIGCHLD - 1), blocked = 1UL << (SIGCHLD - 1) | 1UL << (SIGPIPE - 1);
  int unlock = 0, status, is_open = 1;
  long file = CALL4(openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
  if (file < 0 || CALL3(ioctl, file, TIOCSPTLCK, &unlock) < 0) die("hold: the sandbox gives no terminal\n");
  set_size(file, read_digits(&columns), read_digits(&rows));
  long inner = CALL3(ioctl, file, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (inner < 0) die("hold: the sandbox gives no terminal\n");
  CALL4(rt_sigprocmask, SIG_SETMASK, &blocked, 0, sizeof blocked);
  long ended = CALL4(signalfd4, -1, &awaited, sizeof awaited, SFD_CLOEXEC);
  long pid = CALL5(clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) become_on(inner, words);
  if (pid < 0 || ended < 0) die("hold: cannot start a process\n");
  close_file(inner);
  for (;;) {
    struct pollfd waits[] = {
        {.fd = ended, .events = POLLIN},
        {.fd = keys.at == 0 ? 0 : -1, .events = POLLIN},
        /* One that nobody has open would always be ready. */
        {.fd = is_open ? file : -1, .events = POLLIN | (keys.at > 0 ? POLLOUT : 0)},
    };
    CALL5(ppoll, waits, sizeof waits / sizeof *waits, 0, 0, 0);
    if (waits[0].revents && CALL4(wait4, pid, &status, WNOHANG, 0) == pid) break;
    if (waits[1].revents && !read_keys(file)) CALL3(exit_group, BY_SIGNAL + SIGHUP, 0, 0);
    if (waits[2].revents & POLLIN) show(file);
    else if (waits[2].revents & (POLLHUP | POLLERR)) is_open = 0;
    if (keys.at > 0) type_keys(file);
  }
  /* Programs in the background may print for ever. */
  for (int count = 0; count < MOST_DRAINS && show(file);) count++;
  CALL3(exit_group, exit_code(status), 0, 0);
  __builtin_unreachable();
}
