/*
 * hold bridge SOCKET [SECONDS]: carries stdin to the socket and the socket to stdout. It ends once one of them has ended
 * and what was read has been written. It never closes stdout before: an exec whose stdout is closed gets no more stdin.
 * It waits so many seconds for somebody who listens at the socket, since a container runs before its program does.
 */

struct way {
  unsigned char bytes[PAYLOAD];
  unsigned begin, end;
  int ended;
};

/* Moves what is there from one file to the other, neither of which blocks. Returns false if one of them failed. */
static int carry(struct way *way, int from, int to) {
  if (way->begin == way->end && !way->ended) {
    long got = CALL3(read, from, way->bytes, sizeof way->bytes);
    if (got < 0 && got != -EAGAIN && got != -EINTR) return 0;
    way->begin = 0;
    way->end = got > 0 ? got : 0;
    way->ended = got == 0;
  }
  if (way->begin == way->end) return 1;
  long put = CALL3(write, to, way->bytes + way->begin, way->end - way->begin);
  if (put > 0) way->begin += put;
  return put > 0 || put == -EAGAIN || put == -EINTR;
}

__attribute__((noreturn)) static void bridge(const char *path, const char *seconds) {
  static struct way in, out;
  static const unsigned long pipe = 1UL << (SIGPIPE - 1);
  CALL4(rt_sigprocmask, SIG_BLOCK, &pipe, 0, sizeof pipe);
  long deadline = now_ms() + (long)read_digits(&seconds) * 1000;
  int file;
  while ((file = connect_socket(path)) < 0) {
    if (now_ms() >= deadline) die("hold: cannot connect to the socket\n");
    pause_ms(PAUSE_MS);
  }
  for (int standard = 0; standard < 2; standard++)
    CALL3(fcntl, standard, F_SETFL, CALL3(fcntl, standard, F_GETFL, 0) | O_NONBLOCK);
  for (;;) {
    int is_ending = in.ended || out.ended;
    if (is_ending && in.begin == in.end && out.begin == out.end) CALL3(exit_group, 0, 0, 0);
    struct pollfd waits[] = {
        {.fd = !is_ending && in.begin == in.end ? 0 : -1, .events = POLLIN},
        {.fd = in.begin < in.end ? file : -1, .events = POLLOUT},
        {.fd = !is_ending && out.begin == out.end ? file : -1, .events = POLLIN},
        {.fd = out.begin < out.end ? 1 : -1, .events = POLLOUT},
    };
    CALL5(ppoll, waits, sizeof waits / sizeof *waits, 0, 0, 0);
    if ((waits[0].revents || waits[1].revents) && !carry(&in, 0, file)) die("hold: the connection is lost\n");
    if ((waits[2].revents || waits[3].revents) && !carry(&out, file, 1)) die("hold: the connection is lost\n");
  }
}
