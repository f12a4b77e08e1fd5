/*
 * hold probe [wait:MS] WORD...: a word is tcp:ADDRESS:PORT or udp:ADDRESS:PORT, an address of IPv6 in brackets, or `end`
 * for the container's termination file. It tries all at once for 0.2 s, or as many milliseconds as it is told, at
 * most that. It prints a line for each: the word, and connected (for UDP: it answered), refused (by the address itself),
 * denied (by the jail), unreachable (also: refused on the way there) or timeout; writable, denied or missing.
 */

enum { MOST_PROBES = 64, PROBE_MS = 200 };

union address {
  sa_family_t family;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
};

/* A question for the root's servers, since a server of names answers nothing else. */
static const unsigned char question[] = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1};

static const char *result_of(long error) {
  /* A server that closes a connection at once had accepted it. */
  if (error == 0 || error == ECONNRESET) return "connected";
  if (error == EACCES || error == EPERM) return "denied";
  if (error == ECONNREFUSED) return "refused";
  return error == ETIMEDOUT ? "timeout" : "unreachable";
}

/* Reads groups of hexadecimal digits up to a bracket. Two colons stand for the groups that are left out. */
static const char *read_six(const char *text, unsigned char bytes[16]) {
  unsigned count = 0, gap = 8, groups[8];
  while (*text != 0 && *text != ']') {
    if (text[0] == ':' && text[1] == ':') gap = count, text += 2;
    else if (*text == ':') text++;
    else {
      unsigned value = 0;
      if (count == 8) die("hold: not an address\n");
      for (; *text != 0 && *text != ':' && *text != ']'; text++) {
        char digit = *text | 0x20;
        int is_letter = digit >= 'a' && digit <= 'f';
        if (!is_letter && (*text < '0' || *text > '9')) die("hold: not an address\n");
        value = value << 4 | (is_letter ? digit - 'a' + 10 : *text - '0');
      }
      groups[count++] = value;
    }
  }
  if (gap == 8 && count < 8) die("hold: not an address\n");
  for (unsigned i = 0; i < count; i++) {
    unsigned at = i < gap ? i : i + 8 - count;
    bytes[2 * at] = groups[i] >> 8;
    bytes[2 * at + 1] = groups[i];
  }
  return *text == ']' ? text + 1 : text;
}

/* Reads an address, and moves the text to what follows it. */
static union address read_host(const char **rest) {
  const char *text = *rest;
  union address it = {0};
  if (*text == '[') {
    it.six.sin6_family = AF_INET6;
    text = read_six(text + 1, it.six.sin6_addr.s6_addr);
  } else {
    uint32_t bytes = 0;
    it.four.sin_family = AF_INET;
    for (int i = 0; i < 4; i++) {
      bytes = bytes << 8 | read_digits(&text);
      if (i < 3 && *text++ != '.') die("hold: not an address\n");
    }
    it.four.sin_addr.s_addr = __builtin_bswap32(bytes);
  }
  *rest = text;
  return it;
}

static size_t size_of(const union address *it) { return it->family == AF_INET ? sizeof it->four : sizeof it->six; }

static union address read_address(const char *text) {
  union address it = read_host(&text);
  if (*text++ != ':') die("hold: not an address and a port\n");
  /* Both layouts have the port at the same place. */
  it.four.sin_port = __builtin_bswap16(read_digits(&text));
  return it;
}

/* Has the kernel keep what routers say of a connection, beside its error. */
static void keep_errors(int file, const union address *to) {
  int yes = 1;
  if (to->family == AF_INET) CALL5(setsockopt, file, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
  else CALL5(setsockopt, file, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof yes);
}

/* Tells whether somebody else than the address said that it does not connect, as an enforcer of policies may. */
static int was_stopped(int file, const char *word) {
  union address to = read_address(word + 4), *from;
  struct {
    struct cmsghdr header;
    struct sock_extended_err error;
    union address from;
  } control;
  unsigned char payload[512];
  struct iovec piece = {payload, sizeof payload};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (CALL3(recvmsg, file, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return 0;
  if (message.msg_controllen < sizeof control.header + sizeof control.error + sizeof control.from.four) return 0;
  if (control.error.ee_origin != SO_EE_ORIGIN_ICMP && control.error.ee_origin != SO_EE_ORIGIN_ICMP6) return 0;
  from = &control.from;
  if (from->family != to.family) return 0;
  if (to.family == AF_INET) return from->four.sin_addr.s_addr != to.four.sin_addr.s_addr;
  for (unsigned i = 0; i < sizeof to.six.sin6_addr; i++)
    if (from->six.sin6_addr.s6_addr[i] != to.six.sin6_addr.s6_addr[i]) return 1;
  return 0;
}

/* Begins to connect. Returns the file to wait for, or -1 with the result. */
static int try_address(const char *word, const char **result) {
  int is_udp = starts_with(word, "udp:");
  if (!is_udp && !starts_with(word, "tcp:")) die("hold: not tcp:ADDRESS:PORT or udp:ADDRESS:PORT\n");
  union address to = read_address(word + 4);
  int type = (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  long file = CALL3(socket, to.family, type, 0), failed = file;
  if (file >= 0) keep_errors(file, &to);
  if (file >= 0) failed = CALL3(connect, file, &to, size_of(&to));
  if (failed == 0 && is_udp) failed = CALL6(sendto, file, question, sizeof question, MSG_NOSIGNAL, 0, 0);
  if (failed >= 0 && is_udp) return file;
  if (failed == -EINPROGRESS) return file;
  *result = result_of(-failed);
  return -1;
}

/* A datagram has no end of its connection, but an answer. */
static const char *read_result(int file, int is_udp) {
  int error = 0;
  socklen_t size = sizeof error;
  unsigned char byte;
  CALL5(getsockopt, file, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && is_udp) {
    long got = CALL6(recvfrom, file, &byte, 1, 0, 0, 0);
    error = got < 0 ? -got : 0;
  }
  return result_of(error);
}

static const char *try_end(void) {
  long file = CALL4(openat, AT_FDCWD, "/budgie-end", O_WRONLY | O_CLOEXEC, 0);
  if (file >= 0) return "writable";
  return file == -ENOENT ? "missing" : "denied";
}

__attribute__((noreturn)) static void probe(int count, const char *const *words) {
  struct pollfd waits[MOST_PROBES];
  const char *results[MOST_PROBES];
  uint32_t wait = PROBE_MS;
  if (starts_with(words[0], "wait:")) {
    const char *asked = words[0] + 5;
    wait = read_digits(&asked);
    if (wait < 1 || wait > PROBE_MS || *asked != 0) die("hold: not a time to wait\n");
    words++, count--;
  }
  struct timespec limit = {.tv_nsec = wait * 1000000L};
  int left = 0;
  if (count > MOST_PROBES) die("hold: too many probes\n");
  for (int i = 0; i < count; i++) {
    int is_udp = starts_with(words[i], "udp:"), is_end = is_same(words[i], "end");
    results[i] = is_end ? try_end() : "timeout";
    waits[i] = (struct pollfd){.fd = is_end ? -1 : try_address(words[i], &results[i]), .events = is_udp ? POLLIN : POLLOUT};
    left += waits[i].fd >= 0;
  }
  /* The kernel puts what is left of the time into `limit`. */
  while (left > 0 && CALL5(ppoll, waits, count, &limit, 0, 0) > 0) {
    for (int i = 0; i < count; i++) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      results[i] = read_result(waits[i].fd, starts_with(words[i], "udp:"));
      if (is_same(results[i], "refused") && was_stopped(waits[i].fd, words[i])) results[i] = "unreachable";
      waits[i].fd = -1;
      left--;
    }
  }
  for (int i = 0; i < count; i++) {
    say(1, words[i]);
    say(1, " ");
    say(1, results[i]);
    say(1, "\n");
  }
  CALL3(exit_group, 0, 0, 0);
  __builtin_unreachable();
}
