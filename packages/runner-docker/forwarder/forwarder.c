/*
 * forwarder SOCKET [[ADDRESS:]PORT [COMMAND ARGUMENT...]]: forwards every connection to ADDRESS:PORT (127.0.0.1:3128) to
 * the unix socket SOCKET, until SIGTERM. With a command, which is a path, its process becomes that program once it
 * listens, and a child of it forwards.
 * forwarder reverse SOCKET PORT COMMAND ARGUMENT...: the same from SOCKET, which every user may open, to 127.0.0.1:PORT.
 * forwarder copy ...: fills or reads a folder, as copier.c says.
 *
 * It is the only file of the session image, so it needs only the kernel: no libc, no other file.
 * The headers provide numbers and layouts only. One thread waits in ppoll for sockets that are ready; no other call
 * blocks. scripts/build-forwarder builds the committed binaries beside this file, with Debian bookworm's gcc 12.2 and
 * binutils 2.40, and a test builds them again and compares the bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

enum { CONNECTIONS = 256, BUFFER = 64 * 1024, BACKLOG = 1024, PAUSE_MS = 10 };
/* A pipe moves pages instead of copying bytes. Only large transfers are worth one, and a user's pipes are limited. */
enum { PIPES = 8, PIPE = 1024 * 1024, MUCH = 256 * 1024 };

#include "kernel.h"

/* One of a few shared pipes. A connection holds one only while data of the connection is in it. */
struct pipe {
  int open, taken;
  int end[2]; /* read end, write end */
};

/* One direction of a connection: from side[i] to side[1 - i]. It reads again only after it has written everything. */
struct way {
  unsigned char *buffer;
  struct pipe *pipe;   /* used instead of the buffer, if not null */
  unsigned begin, end; /* the range that is still to be written */
  long moved;
  int ended; /* the source has ended */
  int over;  /* and the end was forwarded, or the target reads no more */
};

struct connection {
  int used;
  int side[2]; /* the client, the target */
  struct way way[2];
};

static struct connection connections[CONNECTIONS];
static unsigned char buffers[CONNECTIONS][2][BUFFER] __attribute__((aligned(BUFFER)));
static struct pipe pipes[PIPES];
static struct pollfd waits[2 + 2 * CONNECTIONS];
static struct sockaddr_un socket_address = {.sun_family = AF_UNIX};
static struct sockaddr_in port_address = {.sin_family = AF_INET};
static int is_reverse;

static struct pipe *take_pipe(void) {
  for (int index = 0; index < PIPES; index++) {
    struct pipe *it = &pipes[index];
    if (it->taken) continue;
    if (!it->open && CALL3(pipe2, it->end, O_NONBLOCK | O_CLOEXEC, 0) < 0) return 0;
    /* If the user's limit of large pipes is reached, the pipe keeps its default size. */
    if (!it->open) CALL3(fcntl, it->end[0], F_SETPIPE_SZ, PIPE);
    it->open = it->taken = 1;
    return it;
  }
  return 0;
}

/* Closes a pipe that still contains data, so that the next connection cannot receive it. */
static void leave_pipe(struct way *way) {
  struct pipe *it = way->pipe;
  if (!it) return;
  if (way->begin < way->end) {
    close_file(it->end[0]);
    close_file(it->end[1]);
    it->open = 0;
  }
  it->taken = 0;
  way->pipe = 0;
}

/* Also returns the memory of the connection's buffers to the kernel. */
static void end_connection(int index) {
  struct connection *it = &connections[index];
  for (int from = 0; from < 2; from++) {
    close_file(it->side[from]);
    leave_pipe(&it->way[from]);
  }
  it->used = 0;
  CALL3(madvise, buffers[index], sizeof buffers[index], MADV_DONTNEED);
}

static int free_connection(void) {
  for (int index = 0; index < CONNECTIONS; index++)
    if (!connections[index].used) return index;
  return -1;
}

/* Returns the index after the last used connection. */
static int end_of_connections(void) {
  int end = CONNECTIONS;
  while (end > 0 && !connections[end - 1].used) end--;
  return end;
}

static void open_connection(int index, int client, int there) {
  struct connection *it = &connections[index];
  *it = (struct connection){.used = 1, .side = {client, there}};
  for (int from = 0; from < 2; from++) it->way[from].buffer = buffers[index][from];
}

static long open_socket(int family) {
  return CALL3(socket, family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static long dial_target(void) {
  long file = open_socket(is_reverse ? AF_INET : AF_UNIX);
  if (file < 0) return -EAGAIN;
  long failed = is_reverse ? CALL3(connect, file, &port_address, sizeof port_address)
                           : CALL3(connect, file, &socket_address, sizeof socket_address);
  /* A connection in progress that is refused ends with its first read. */
  if (failed == 0 || failed == -EINPROGRESS) return file;
  close_file(file);
  return failed;
}

/*
 * Dials the target first: while it is too busy, or descriptors run out, the client waits in the backlog. If the target
 * has ended, the client is disconnected at once. Returns whether to pause.
 */
static int accept_client(int listener, int index) {
  static const int on = 1;
  long there = dial_target();
  if (there == -EAGAIN) return 1;
  long client = CALL4(accept4, listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (there < 0 || client < 0) {
    if (client >= 0) close_file(client);
    if (there >= 0) close_file(there);
    return client < 0;
  }
  /* One of the two is a unix socket, which refuses it. */
  CALL5(setsockopt, client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  CALL5(setsockopt, there, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  open_connection(index, client, there);
  return 0;
}

static long take(int file, struct way *way) {
  if (way->moved >= MUCH) way->pipe = take_pipe();
  if (way->pipe) {
    long got = CALL6(splice, file, 0, way->pipe->end[1], 0, PIPE, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (got != 0 && got != -EAGAIN) return got;
    /* splice never gets past urgent data, but recv does. */
    leave_pipe(way);
  }
  return CALL5(recvfrom, file, way->buffer, BUFFER, 0, 0);
}

static long give(int file, const struct way *way) {
  unsigned length = way->end - way->begin;
  if (way->pipe) return CALL6(splice, way->pipe->end[0], 0, file, 0, length, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  return CALL5(sendto, file, way->buffer + way->begin, length, MSG_NOSIGNAL, 0);
}

/* Moves the available data in one direction. Returns false if the connection is lost. */
static int move(struct connection *it, int from, int readable) {
  struct way *way = &it->way[from];
  if (readable && !way->ended && way->begin == way->end) {
    long got = take(it->side[from], way);
    if (got < 0) {
      leave_pipe(way);
      return got == -EAGAIN || got == -EINTR;
    }
    way->begin = 0;
    way->end = got;
    way->ended = got == 0;
    way->moved += got;
  }
  if (way->begin < way->end) {
    long put = give(it->side[1 - from], way);
    if (put > 0) way->begin += put;
    /* A target that reads no more may still send, such as a refusal. */
    if (put < 0 && put != -EAGAIN && put != -EINTR) {
      leave_pipe(way);
      way->ended = way->over = 1;
      way->begin = way->end;
    }
  }
  if (way->begin == way->end) leave_pipe(way);
  if (way->ended && !way->over && way->begin == way->end) {
    CALL3(shutdown, it->side[1 - from], SHUT_WR, 0);
    way->over = 1;
  }
  return 1;
}

/* Returns the events to wait for on one side, without a file if there are none: a hang-up would be reported forever. */
static struct pollfd wait_for(const struct connection *it, int side) {
  const struct way *out = &it->way[side], *in = &it->way[1 - side];
  short events = (!out->ended && out->begin == out->end ? POLLIN : 0) | (in->begin < in->end ? POLLOUT : 0);
  return (struct pollfd){.fd = events ? it->side[side] : -1, .events = events};
}

static void serve(int index, const struct pollfd *told) {
  struct connection *it = &connections[index];
  for (int from = 0; from < 2; from++) {
    int readable = told[from].revents & ~POLLOUT, writable = told[1 - from].revents & ~POLLIN;
    if ((readable || writable) && !move(it, from, readable)) return end_connection(index);
  }
  if (it->way[0].over && it->way[1].over) end_connection(index);
}

static int listen_on_port(void) {
  static const int on = 1;
  long file = open_socket(AF_INET);
  CALL5(setsockopt, file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (CALL3(bind, file, &port_address, sizeof port_address) < 0 || CALL3(listen, file, BACKLOG, 0) < 0)
    die("forwarder: cannot listen on a loopback address\n");
  return file;
}

/* The folder around the socket decides who reaches it. */
static int listen_on_socket(void) {
  long file = open_socket(AF_UNIX);
  CALL3(unlinkat, AT_FDCWD, socket_address.sun_path, 0);
  long mask = CALL3(umask, 0, 0, 0);
  long failed = CALL3(bind, file, &socket_address, sizeof socket_address);
  CALL3(umask, mask, 0, 0);
  if (failed < 0 || CALL3(listen, file, BACKLOG, 0) < 0) die("forwarder: cannot listen on the socket\n");
  return file;
}

/* The kernel drops signals to a container's first process that it neither handles nor blocks. */
static int await_signals(void) {
  static const unsigned long ends = 1UL << (SIGTERM - 1) | 1UL << (SIGINT - 1) | 1UL << (SIGHUP - 1);
  CALL4(rt_sigprocmask, SIG_BLOCK, &ends, 0, sizeof ends);
  return CALL4(signalfd4, -1, &ends, sizeof ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A splice to a closed connection would end the process. */
static void block_sigpipe(void) {
  static const unsigned long pipe = 1UL << (SIGPIPE - 1);
  CALL4(rt_sigprocmask, SIG_BLOCK, &pipe, 0, sizeof pipe);
}

static void read_socket(const char *path) {
  size_t length = 0;
  for (; path[length] != 0; length++) {
    if (length + 1 >= sizeof socket_address.sun_path) die("forwarder: the path of the socket is too long\n");
    socket_address.sun_path[length] = path[length];
  }
}

/* Reads a number up to `most`, and returns the text after it. */
static const char *read_number(const char *digits, unsigned most, unsigned *number) {
  if (*digits < '0' || *digits > '9') die("forwarder: not a port\n");
  for (*number = 0; *digits >= '0' && *digits <= '9' && *number <= most; digits++)
    *number = *number * 10 + (*digits - '0');
  if (*number > most) die("forwarder: not a port\n");
  return digits;
}

/* Reads a port, or an address of the loopback network and a port. */
static void read_port(const char *text) {
  unsigned part, address = 0, count = 0;
  const char *rest = read_number(text, 65535, &part);
  for (; *rest == '.' && count < 3 && part <= 255; count++) {
    address = address << 8 | part;
    rest = read_number(rest + 1, 255, &part);
  }
  if (count == 3 && *rest == ':' && address >> 16 == IN_LOOPBACKNET) {
    address = address << 8 | part;
    rest = read_number(rest + 1, 65535, &part);
  } else if (count == 0) {
    address = INADDR_LOOPBACK;
  } else {
    die("forwarder: not an address of the loopback network and a port\n");
  }
  if (*rest != 0 || part == 0) die("forwarder: not a port\n");
  port_address.sin_port = __builtin_bswap16(part);
  port_address.sin_addr.s_addr = __builtin_bswap32(address);
}

/* Forwards until `signals` has a signal. */
__attribute__((noreturn)) static void carry(int signals, int listener) {
  int pause = 0;
  for (;;) {
    int room = free_connection(), end = end_of_connections();
    waits[0] = (struct pollfd){.fd = signals, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = room < 0 || pause ? -1 : listener, .events = POLLIN};
    for (int i = 0; i < 2 * end; i++)
      waits[2 + i] = connections[i / 2].used ? wait_for(&connections[i / 2], i % 2) : (struct pollfd){.fd = -1};

    struct timespec limit = {.tv_nsec = PAUSE_MS * 1000000L};
    CALL5(ppoll, waits, 2 + 2 * end, pause ? &limit : 0, 0, 0);
    if (waits[0].revents) CALL3(exit_group, 0, 0, 0);
    for (int index = 0; index < end; index++)
      if (connections[index].used) serve(index, &waits[2 + 2 * index]);
    pause = waits[1].revents ? accept_client(listener, room) : 0;
  }
}

/* Runs the command in this process, and returns in a child of it, which ends with it and has none of its streams. */
static void become(const char *const *command, const char *const *environment) {
  long self = CALL3(getpid, 0, 0, 0), child = CALL5(clone, SIGCHLD, 0, 0, 0, 0);
  if (child > 0) CALL3(execve, command[0], command, environment);
  if (child != 0) die("forwarder: cannot run the command\n");
  CALL5(prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (CALL3(getppid, 0, 0, 0) != self) CALL3(exit_group, 0, 0, 0);
  for (int stream = 0; stream < 3; stream++) close_file(stream);
}

#include "copier.c"

/* Called by _start with the kernel's initial stack: the number of arguments, the arguments, a null, then the environment. */
__attribute__((noreturn, used)) void begin(long *stack) {
  long count = stack[0];
  const char *const *arguments = (const char *const *)(stack + 1), *const *environment = arguments + count + 1;
  if (count > 1 && is_same(arguments[1], "copy")) copy(count - 2, arguments + 2);
  is_reverse = count > 1 && is_same(arguments[1], "reverse");
  if (is_reverse) arguments++, count--;
  if (count < (is_reverse ? 4 : 2)) die("usage: forwarder [reverse] SOCKET [[ADDRESS:]PORT [COMMAND ARGUMENT...]]\n");
  read_socket(arguments[1]);
  if (count > 2) read_port(arguments[2]);
  else read_port("3128");
  int listener = is_reverse ? listen_on_socket() : listen_on_port();
  if (count > 3) become(arguments + 3, environment);
  block_sigpipe();
  carry(await_signals(), listener);
}
