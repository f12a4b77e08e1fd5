/*
 * hold scan ADDRESS FIRST LAST: connects to each of these TCP ports, thousands at once, and prints a line for each that
 * takes the connection: the number and `open`. The last line, `scanned FIRST LAST`, says that all were tried, or `more`
 * that it stopped at the 65th. It waits a third of a second for those that do not answer, which is long for a machine
 * with nothing in between.
 */

/* Each connection takes 8 KiB of the container's memory. */
enum { MOST_AT_ONCE = 8192, SCAN_MS = 300, MOST_OPEN = 64 };

static struct pollfd scanned[MOST_AT_ONCE];
static uint16_t scanned_ports[MOST_AT_ONCE];

static void say_number(uint32_t number) {
  char text[11], *start = text + sizeof text - 1;
  *start = 0;
  do *--start = '0' + number % 10;
  while ((number /= 10) > 0);
  say(1, start);
}

static void say_open(uint16_t port) {
  static unsigned found;
  if (++found > MOST_OPEN) {
    say(1, "more\n");
    CALL3(exit_group, 0, 0, 0);
  }
  say_number(port);
  say(1, " open\n");
}

/* Begins to connect to ports from `next` on, until `last` or as many as there is room for. Returns the next one. */
static uint32_t begin_scan(union address *to, uint32_t next, uint32_t last, unsigned *count) {
  for (*count = 0; next <= last && *count < MOST_AT_ONCE; next++) {
    long file = CALL3(socket, to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* A machine may allow fewer open files. */
    if (file == -EMFILE && *count > 0) break;
    if (file < 0) die("hold: no socket for a scan\n");
    to->four.sin_port = __builtin_bswap16(next);
    long failed = CALL3(connect, file, to, size_of(to));
    if (failed == -EINPROGRESS) {
      scanned_ports[*count] = next;
      scanned[(*count)++] = (struct pollfd){.fd = file, .events = POLLOUT};
      continue;
    }
    if (failed == 0) say_open(next);
    /* A call that the kernel could not make says nothing of the port. */
    if (failed == -EADDRNOTAVAIL || failed == -EAGAIN || failed == -ENOBUFS || failed == -ENOMEM)
      die("hold: no room for a scan\n");
    close_file(file);
  }
  return next;
}

static void end_scan(unsigned count) {
  struct timespec limit = {.tv_nsec = SCAN_MS * 1000000L};
  /* The kernel puts what is left of the time into `limit`. */
  while (count > 0 && CALL5(ppoll, scanned, count, &limit, 0, 0) > 0) {
    unsigned left = 0;
    for (unsigned i = 0; i < count; i++) {
      if (scanned[i].revents == 0) {
        scanned_ports[left] = scanned_ports[i];
        scanned[left++] = scanned[i];
        continue;
      }
      if (is_same(read_result(scanned[i].fd, 0), "connected")) say_open(scanned_ports[i]);
      close_file(scanned[i].fd);
    }
    count = left;
  }
  for (unsigned i = 0; i < count; i++) close_file(scanned[i].fd);
}

__attribute__((noreturn)) static void scan(const char *const *words) {
  const char *address = words[0], *first = words[1], *last = words[2];
  union address to = read_host(&address);
  uint32_t next = read_digits(&first), end = read_digits(&last);
  unsigned count;
  if (*address != 0 || *first != 0 || *last != 0 || next < 1 || end > UINT16_MAX) die("hold: nothing to scan\n");
  while (next <= end) {
    next = begin_scan(&to, next, end, &count);
    end_scan(count);
  }
  say(1, "scanned ");
  say(1, words[1]);
  say(1, " ");
  say(1, words[2]);
  say(1, "\n");
  CALL3(exit_group, 0, 0, 0);
  __builtin_unreachable();
}
