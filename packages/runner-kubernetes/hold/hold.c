/*
 * hold [SOCKET]: process 1 of an agent's container. It connects to SOCKET (/budgie/hold.sock), and starts one process
 * after another as the sidecar orders, with the messages of docs/adr/0040. After each, it kills what is left.
 * hold bridge SOCKET [SECONDS]: carries bytes between its stdin and stdout and a unix socket, as bridge.c says.
 * hold prepare FROM TO FOLDER...: makes what the container needs before it is made, as prepare.c says.
 * hold probe [wait:MS] WORD...: tells what the network and the jail let it reach, as probe.c says.
 * hold scan ADDRESS FIRST LAST: tells the ports of a machine to which it can connect, as scan.c says.
 * hold terminal COLUMNS ROWS PROGRAM...: runs a program on a terminal, as terminal.c says.
 *
 * It needs only the kernel: no libc, no other file but the seccomp profile beside the socket. One thread waits in ppoll,
 * and no other call blocks. child.c is what happens between the order and the program of the agent.
 * scripts/build-forwarder builds the committed binaries beside this file, and a test compares the bytes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "kernel.h"

enum { HEADER = 8, PAYLOAD = 64 * 1024, ORDER = 2 * 1024 * 1024, WINDOW = 256 * 1024 };
/* Some of the space for messages is kept for the short ones, which must not wait. */
enum { SHORT = 256, OUTGOING = 2 * (HEADER + PAYLOAD) + SHORT };
enum { CONNECT_SECONDS = 60, GRACE_SECONDS = 2, CLEAN_SECONDS = 10, PAUSE_MS = 5 };

#include "text.c"
#include "child.c"
#include "bridge.c"
#include "prepare.c"
#include "probe.c"
#include "scan.c"
#include "terminal.c"

enum stream { INPUT, OUTPUT, ERRORS, STREAMS };

static unsigned char incoming[HEADER + ORDER] __attribute__((aligned(8)));
static unsigned got; /* bytes in it */
static unsigned char outgoing[OUTGOING];
static unsigned out_begin, out_end;
static unsigned char input[WINDOW]; /* a ring of bytes for the stdin of the process */
static unsigned input_begin, input_length, input_taken;
static int input_ends;

static int sidecar, signals;
static int stream[STREAMS] = {-1, -1, -1};
static struct {
  int pid;      /* 0: none was ordered, or its end was told */
  int has_ended;
  int is_alone; /* everything else has been killed */
  int code, signal;
  uint32_t kills;
  long deadline;
} process;

/* Returns whether no process is left that this one started, or that one of them did. */
static int reap(void) {
  for (;;) {
    int status = 0;
    long pid = CALL4(wait4, -1, &status, WNOHANG | __WALL, 0);
    if (pid == 0 || pid == -EINTR) return 0;
    if (pid < 0) return 1;
    if (pid != process.pid || process.has_ended) continue;
    process.has_ended = 1;
    process.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    process.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    process.deadline = now_ms() + CLEAN_SECONDS * 1000;
  }
}

/* Ends everything: this is process 1, with which the kernel kills what is left. */
__attribute__((noreturn)) static void finish(int code) {
  long deadline = now_ms() + GRACE_SECONDS * 1000;
  CALL3(kill, -1, SIGTERM, 0);
  while (!reap() && now_ms() < deadline) pause_ms(PAUSE_MS);
  CALL3(kill, -1, SIGKILL, 0);
  CALL3(exit_group, code, 0, 0);
  __builtin_unreachable();
}

__attribute__((noreturn)) static void give_up(const char *message) {
  say(2, message);
  finish(1);
}

static unsigned room(void) { return OUTGOING - (out_end - out_begin); }

/* Begins a message, whose payload follows at the returned place. */
static unsigned char *begin_message(void) {
  if (out_begin > 0) copy_bytes(outgoing, outgoing + out_begin, out_end - out_begin);
  out_end -= out_begin;
  out_begin = 0;
  return outgoing + out_end + HEADER;
}

static void end_message(char kind, uint32_t length) {
  unsigned char header[HEADER] = {kind, 0, 0, 0, length, length >> 8, length >> 16, length >> 24};
  copy_bytes(outgoing + out_end, header, HEADER);
  out_end += HEADER + length;
}

/* Both processors that it is built for are little-endian, as the messages are. */
static void tell(char kind, const void *payload, unsigned length) {
  if (room() < HEADER + length) give_up("hold: too many messages wait for the sidecar\n");
  copy_bytes(begin_message(), payload, length);
  end_message(kind, length);
}

static void flush(void) {
  if (out_begin == out_end) return;
  long put = CALL5(sendto, sidecar, outgoing + out_begin, out_end - out_begin, MSG_NOSIGNAL | MSG_DONTWAIT, 0);
  if (put > 0) out_begin += put;
  else if (put != -EAGAIN && put != -EINTR) give_up("hold: the sidecar is gone\n");
}

static void close_stream(enum stream which) {
  if (stream[which] >= 0) close_file(stream[which]);
  stream[which] = -1;
}

static void forget_input(void) {
  input_begin = input_length = 0;
  input_ends = 0;
}

/* Moves what waits for the process into its stdin. If it reads no more, the bytes are taken all the same. */
static void give_input(void) {
  while (input_length > 0) {
    unsigned length = input_begin + input_length > WINDOW ? WINDOW - input_begin : input_length;
    long put = stream[INPUT] < 0 ? length : CALL3(write, stream[INPUT], input + input_begin, length);
    if (put == -EAGAIN || put == -EINTR) return;
    if (put < 0) {
      close_stream(INPUT);
      continue;
    }
    input_begin = (input_begin + put) % WINDOW;
    input_length -= put;
    input_taken += put;
  }
  if (input_ends) close_stream(INPUT);
}

static void tell_taken(void) {
  if (input_taken == 0 || room() < OUTGOING / 2) return;
  tell('U', &input_taken, sizeof input_taken);
  input_taken = 0;
}

/* Passes on what a stream of the process has, if there is room for it. Otherwise the process waits. */
static void take_output(enum stream which) {
  if (stream[which] < 0 || room() < HEADER + PAYLOAD + SHORT) return;
  long length = CALL3(read, stream[which], begin_message(), PAYLOAD);
  if (length > 0) end_message(which == OUTPUT ? 'O' : 'R', length);
  else if (length == 0 || (length == -EAGAIN && process.is_alone)) close_stream(which);
  else if (length != -EAGAIN && length != -EINTR) close_stream(which);
}

static void add_input(const unsigned char *bytes, unsigned length) {
  if (process.pid == 0 || process.has_ended) return;
  if (length == 0) input_ends = 1;
  if (length > WINDOW - input_length) give_up("hold: the sidecar sent more stdin than it may\n");
  for (unsigned i = 0; i < length; i++) input[(input_begin + input_length + i) % WINDOW] = bytes[i];
  input_length += length;
}

/* Opens the pipes of a process: `inner` are its own ends. */
static int open_streams(int inner[STREAMS]) {
  for (int which = 0; which < STREAMS; which++) {
    int end[2];
    if (CALL3(pipe2, end, O_CLOEXEC, 0) < 0) return 0;
    stream[which] = end[which == INPUT];
    inner[which] = end[which != INPUT];
    CALL3(fcntl, stream[which], F_SETFL, O_NONBLOCK);
  }
  return 1;
}

static void start(const unsigned char *payload, unsigned length) {
  static struct order order;
  if (process.pid != 0) give_up("hold: the sidecar ordered a process while another one runs\n");
  if (!read_order(payload, length, &order)) give_up("hold: the sidecar sent an order that cannot be read\n");
  int inner[STREAMS];
  if (!open_streams(inner)) give_up("hold: cannot open pipes\n");
  prepare_jail(&order);
  forget_input();
  process.has_ended = process.is_alone = process.signal = 0;
  process.kills = count_kills();
  long pid = CALL5(clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) become(&order, inner);
  if (pid < 0) give_up("hold: cannot start a process\n");
  process.pid = pid;
  for (int which = 0; which < STREAMS; which++) close_file(inner[which]);
  tell('P', 0, 0);
}

static void handle(char kind, const unsigned char *payload, unsigned length) {
  if (kind == 'S') start(payload, length);
  else if (kind == 'I') add_input(payload, length);
  else if (kind == 'K' && length == 4 && read_number(payload) - 1 < SIGNALS)
    CALL3(kill, -1, read_number(payload), 0);
  else give_up("hold: the sidecar sent a message that cannot be read\n");
}

static void read_messages(void) {
  long length = CALL5(recvfrom, sidecar, incoming + got, sizeof incoming - got, MSG_DONTWAIT, 0);
  if (length == -EAGAIN || length == -EINTR) return;
  if (length <= 0) give_up("hold: the sidecar is gone\n");
  got += length;
  unsigned at = 0;
  while (got - at >= HEADER) {
    unsigned size = read_number(incoming + at + 4);
    if (size > (incoming[at] == 'S' ? ORDER : PAYLOAD)) give_up("hold: the sidecar sent a message that is too long\n");
    if (got - at < HEADER + size) break;
    handle(incoming[at], incoming + at + HEADER, size);
    at += HEADER + size;
  }
  if (at > 0) copy_bytes(incoming, incoming + at, got - at);
  got -= at;
}

/* Returns whether /proc shows no other process: also none that kubelet or an engine brought in. */
static int is_alone(void) {
  static struct dirent64 entries[64];
  long folder = CALL4(openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), length;
  int others = folder < 0;
  while (!others && (length = CALL3(getdents64, folder, entries, sizeof entries)) != 0) {
    if (length < 0) others = 1;
    for (long at = 0; at < length; at += ((struct dirent64 *)((char *)entries + at))->d_reclen) {
      const char *name = ((struct dirent64 *)((char *)entries + at))->d_name;
      if (name[0] >= '1' && name[0] <= '9' && !is_same(name, "1")) others = 1;
    }
  }
  close_file(folder);
  return !others;
}

/* Kills what the process left behind, and tells its end once nothing runs and all its output is on its way. */
static void clean(void) {
  if (!process.is_alone) {
    CALL3(kill, -1, SIGKILL, 0);
    process.is_alone = reap() && is_alone();
    if (!process.is_alone && now_ms() > process.deadline) give_up("hold: a process cannot be killed\n");
    if (!process.is_alone) return;
    close_stream(INPUT);
  }
  if (stream[OUTPUT] >= 0 || stream[ERRORS] >= 0) return;
  int32_t end[] = {process.code, process.signal, count_kills() - process.kills};
  if (room() < SHORT) return;
  forget_input();
  input_taken = 0;
  tell('E', end, sizeof end);
  process.pid = 0;
}

static void read_signals(void) {
  struct signalfd_siginfo info;
  while (CALL3(read, signals, &info, sizeof info) == sizeof info)
    if (info.ssi_signo != SIGCHLD) finish(0);
  reap();
}

/* After a hang-up of a stream that nobody reads, ppoll would return at once. */
static struct pollfd wait_for(int file, short events) {
  return (struct pollfd){.fd = events ? file : -1, .events = events};
}

__attribute__((noreturn)) static void serve(void) {
  for (int first = 0;; first = !first) {
    int is_free = room() >= HEADER + PAYLOAD + SHORT;
    struct pollfd waits[] = {
        {.fd = signals, .events = POLLIN},
        {.fd = sidecar, .events = POLLIN | (out_begin < out_end ? POLLOUT : 0)},
        wait_for(stream[INPUT], input_length > 0 ? POLLOUT : 0),
        wait_for(stream[OUTPUT], is_free ? POLLIN : 0),
        wait_for(stream[ERRORS], is_free ? POLLIN : 0),
    };
    struct timespec limit = {.tv_nsec = PAUSE_MS * 1000000L};
    int is_cleaning = process.pid != 0 && process.has_ended && (!process.is_alone || is_free);
    CALL5(ppoll, waits, sizeof waits / sizeof *waits, is_cleaning ? &limit : 0, 0, 0);
    if (waits[0].revents) read_signals();
    if (waits[1].revents & ~POLLOUT) read_messages();
    give_input();
    take_output(first ? OUTPUT : ERRORS);
    take_output(first ? ERRORS : OUTPUT);
    if (process.pid != 0 && process.has_ended) clean();
    tell_taken();
    flush();
  }
}

static void connect_sidecar(const char *path) {
  long deadline = now_ms() + CONNECT_SECONDS * 1000;
  while ((sidecar = connect_socket(path)) < 0) {
    if (now_ms() > deadline) die("hold: cannot connect to the sidecar's socket\n");
    pause_ms(PAUSE_MS);
  }
}

/* The kernel drops signals to process 1 that it neither handles nor blocks. A write to a closed pipe is only an error. */
static void await_signals(void) {
  static const unsigned long all = ~0UL;
  static const unsigned long awaited =
      1UL << (SIGTERM - 1) | 1UL << (SIGINT - 1) | 1UL << (SIGHUP - 1) | 1UL << (SIGCHLD - 1);
  CALL4(rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all);
  signals = CALL4(signalfd4, -1, &awaited, sizeof awaited, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void greet(void) {
  uint32_t hello[] = {jail.abi, jail.first_port, jail.last_port};
  tell('H', hello, sizeof hello);
}

/* Called by _start with the kernel's initial stack: the number of arguments, the arguments, a null, then the environment. */
__attribute__((noreturn, used)) void begin(long *stack) {
  long count = stack[0];
  const char *const *arguments = (const char *const *)(stack + 1);
  container_environment = arguments + count + 1;
  if ((count == 3 || count == 4) && is_same(arguments[1], "bridge")) bridge(arguments[2], count == 4 ? arguments[3] : "0");
  if (count > 3 && is_same(arguments[1], "prepare")) prepare(arguments[2], arguments[3], arguments + 4);
  if (count > 2 && is_same(arguments[1], "probe")) probe(count - 2, arguments + 2);
  if (count == 5 && is_same(arguments[1], "scan")) scan(arguments + 2);
  if (count > 4 && is_same(arguments[1], "terminal")) terminal(arguments[2], arguments[3], arguments + 4);
  if (count > 2)
    die("usage: hold [SOCKET] | bridge SOCKET [SECONDS] | prepare FROM TO FOLDER... | probe [wait:MS] WORD... | "
        "scan ADDRESS FIRST LAST | terminal COLUMNS ROWS PROGRAM...\n");
  /* Elsewhere it would kill processes of others. */
  if (CALL3(getpid, 0, 0, 0) != 1) die("hold: it must be process 1 of a container\n");
  const char *path = count > 1 ? arguments[1] : "/budgie/hold.sock";
  CALL5(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  CALL3(close_range, 3, ~0U, 0);
  await_signals();
  read_profile(path);
  connect_sidecar(path);
  survey_jail();
  greet();
  serve();
}
