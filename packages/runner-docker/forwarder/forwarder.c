/*
 * forwarder SOCKET [PORT]: carries every connection to 127.0.0.1:PORT (3128) to the unix socket SOCKET, until SIGTERM.
 *
 * It is all that the holder's image has inside, so it needs nothing but the kernel: no libc, no file, no second process.
 * The headers are read for their numbers and layouts only. One thread waits in ppoll for what can go on; nothing else
 * blocks. scripts/build-forwarder makes the binaries that are committed beside this file, with Debian bookworm's gcc 12.2
 * and binutils 2.40, and a test makes them again and compares the bytes.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

enum { PORT = 3128, CONNECTIONS = 256, BUFFER = 64 * 1024, BACKLOG = 1024, PAUSE_MS = 10 };

#if defined(__x86_64__)
__asm__(".global _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

static long kernel(long call, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(call), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__asm__(".global _start\n_start: mov x0, sp\n b begin\n");

static long kernel(long call, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = call, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = 0;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#endif

#define CALL5(name, a, b, c, d, e) kernel(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define CALL4(name, a, b, c, d) CALL5(name, a, b, c, d, 0)
#define CALL3(name, a, b, c) CALL5(name, a, b, c, 0, 0)

/* One direction of a connection: from side[i] to side[1 - i]. It is read only when all before has been written. */
struct way {
  unsigned begin, end; /* what of its buffer is still to be written */
  int ended;           /* nothing more will come */
  int over;            /* and the other side was told, or does not listen any more */
};

struct connection {
  int used;
  int side[2]; /* the client, the proxy */
  struct way way[2];
};

static struct connection connections[CONNECTIONS];
static unsigned char buffers[CONNECTIONS][2][BUFFER] __attribute__((aligned(BUFFER)));
static struct pollfd waits[2 + 2 * CONNECTIONS];
static struct sockaddr_un proxy = {.sun_family = AF_UNIX};

static void die(const char *message) {
  size_t length = 0;
  while (message[length] != 0) length++;
  CALL3(write, 2, message, length);
  CALL3(exit_group, 1, 0, 0);
  __builtin_unreachable();
}

/* The compiler may call it even here. */
__attribute__((used)) void *memset(void *start, int byte, size_t length) {
  for (size_t i = 0; i < length; i++) ((unsigned char *)start)[i] = byte;
  return start;
}

static void close_file(int file) { CALL3(close, file, 0, 0); }

/* A busy connection's memory is given back with it. */
static void end_connection(int index) {
  struct connection *it = &connections[index];
  close_file(it->side[0]);
  close_file(it->side[1]);
  it->used = 0;
  CALL3(madvise, buffers[index], sizeof buffers[index], MADV_DONTNEED);
}

static int free_connection(void) {
  for (int index = 0; index < CONNECTIONS; index++)
    if (!connections[index].used) return index;
  return -1;
}

static long dial_proxy(void) {
  long file = CALL3(socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) return -EAGAIN;
  long failed = CALL3(connect, file, &proxy, sizeof proxy);
  if (failed == 0) return file;
  close_file(file);
  return failed;
}

/*
 * The proxy is dialled first: while it is too busy, or files are short, the client waits in the backlog. If there is no
 * proxy any more the client is told so at once. Returns whether to pause.
 */
static int accept_client(int listener, int index) {
  static const int on = 1;
  struct connection *it = &connections[index];
  long there = dial_proxy();
  if (there == -EAGAIN) return 1;
  long client = CALL4(accept4, listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (there < 0 || client < 0) {
    if (client >= 0) close_file(client);
    if (there >= 0) close_file(there);
    return client < 0;
  }
  CALL5(setsockopt, client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  *it = (struct connection){.used = 1, .side = {client, there}};
  return 0;
}

/* Moves what can be moved one way. Returns false when the connection is lost. */
static int move(int index, int from, int readable) {
  struct connection *it = &connections[index];
  struct way *way = &it->way[from];
  unsigned char *buffer = buffers[index][from];
  if (readable && !way->ended && way->begin == way->end) {
    long got = CALL5(recvfrom, it->side[from], buffer, BUFFER, 0, 0);
    if (got < 0) return got == -EAGAIN || got == -EINTR;
    way->begin = 0;
    way->end = got;
    way->ended = got == 0;
  }
  if (way->begin < way->end) {
    long put = CALL5(sendto, it->side[1 - from], buffer + way->begin, way->end - way->begin, MSG_NOSIGNAL, 0);
    if (put > 0) way->begin += put;
    /* Who does not listen may still have something to say: a refusal, for one. */
    if (put < 0 && put != -EAGAIN && put != -EINTR) *way = (struct way){.ended = 1, .over = 1};
  }
  if (way->ended && !way->over && way->begin == way->end) {
    CALL3(shutdown, it->side[1 - from], SHUT_WR, 0);
    way->over = 1;
  }
  return 1;
}

/* What is waited for on one side of a connection. No file if that is nothing: a side that hung up would be told for ever. */
static struct pollfd wait_for(const struct connection *it, int side) {
  const struct way *out = &it->way[side], *in = &it->way[1 - side];
  short events = (!out->ended && out->begin == out->end ? POLLIN : 0) | (in->begin < in->end ? POLLOUT : 0);
  return (struct pollfd){.fd = events ? it->side[side] : -1, .events = events};
}

static void serve(int index, const struct pollfd *told) {
  struct connection *it = &connections[index];
  for (int from = 0; from < 2; from++) {
    int readable = told[from].revents & ~POLLOUT, writable = told[1 - from].revents & ~POLLIN;
    if ((readable || writable) && !move(index, from, readable)) return end_connection(index);
  }
  if (it->way[0].over && it->way[1].over) end_connection(index);
}

static int listen_on(unsigned port) {
  static const int on = 1;
  struct sockaddr_in here = {.sin_family = AF_INET,
                             .sin_port = __builtin_bswap16(port),
                             .sin_addr = {__builtin_bswap32(INADDR_LOOPBACK)}};
  long file = CALL3(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  CALL5(setsockopt, file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (CALL3(bind, file, &here, sizeof here) < 0 || CALL3(listen, file, BACKLOG, 0) < 0)
    die("forwarder: cannot listen on 127.0.0.1\n");
  return file;
}

/* As a container's first process it would not hear of signals that it neither handles nor blocks. */
static int await_signals(void) {
  static const unsigned long ends = 1UL << (SIGTERM - 1) | 1UL << (SIGINT - 1) | 1UL << (SIGHUP - 1);
  CALL4(rt_sigprocmask, SIG_BLOCK, &ends, 0, sizeof ends);
  return CALL4(signalfd4, -1, &ends, sizeof ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_socket(const char *path) {
  size_t length = 0;
  for (; path[length] != 0; length++) {
    if (length + 1 >= sizeof proxy.sun_path) die("forwarder: the path of the socket is too long\n");
    proxy.sun_path[length] = path[length];
  }
}

static unsigned to_port(const char *digits) {
  unsigned port = 0;
  for (; *digits >= '0' && *digits <= '9' && port < 65536; digits++) port = port * 10 + (*digits - '0');
  if (*digits != 0 || port == 0 || port > 65535) die("forwarder: not a port\n");
  return port;
}

/* Called by _start with the stack as the kernel made it: the number of arguments, then these. */
__attribute__((noreturn, used)) void begin(long *stack) {
  const char *const *arguments = (const char *const *)(stack + 1);
  if (stack[0] < 2) die("usage: forwarder SOCKET [PORT]\n");
  read_socket(arguments[1]);
  int listener = listen_on(stack[0] > 2 ? to_port(arguments[2]) : PORT);
  int signals = await_signals();
  int pause = 0;

  for (;;) {
    int room = free_connection();
    waits[0] = (struct pollfd){.fd = signals, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = room < 0 || pause ? -1 : listener, .events = POLLIN};
    for (int i = 0; i < 2 * CONNECTIONS; i++)
      waits[2 + i] = connections[i / 2].used ? wait_for(&connections[i / 2], i % 2) : (struct pollfd){.fd = -1};

    struct timespec limit = {.tv_nsec = PAUSE_MS * 1000000L};
    CALL5(ppoll, waits, 2 + 2 * CONNECTIONS, pause ? &limit : 0, 0, 0);
    if (waits[0].revents) CALL3(exit_group, 0, 0, 0);
    for (int index = 0; index < CONNECTIONS; index++)
      if (connections[index].used) serve(index, &waits[2 + 2 * index]);
    pause = waits[1].revents ? accept_client(listener, room) : 0;
  }
}
