/* Bytes, messages to people, and the socket, which hold's parts share. */

/* Also copies to a place that overlaps the source from below. */
static void copy_bytes(void *to, const void *from, size_t length) {
  for (size_t i = 0; i < length; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

/* The compiler may emit calls of it even in freestanding code. */
__attribute__((used)) void *memcpy(void *to, const void *from, size_t length) {
  copy_bytes(to, from, length);
  return to;
}

static size_t length_of(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

static void say(int file, const char *text) { CALL3(write, file, text, length_of(text)); }

static int starts_with(const char *text, const char *start) {
  while (*start != 0 && *text == *start) text++, start++;
  return *start == 0;
}

static uint32_t read_number(const unsigned char *bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Reads digits of a text, and moves it behind them. A number that is too large becomes the largest. */
static uint32_t read_digits(const char **text) {
  uint64_t number = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++)
    if (number <= UINT32_MAX) number = number * 10 + (**text - '0');
  return number > UINT32_MAX ? UINT32_MAX : number;
}

/* Reads a small file of the kernel as a text, which is empty if there is no such file. */
static const char *read_text(const char *path) {
  static char text[4096];
  long file = CALL4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  long length = file < 0 ? 0 : CALL3(read, file, text, sizeof text - 1);
  if (file >= 0) close_file(file);
  text[length < 0 ? 0 : length] = 0;
  return text;
}

/* Returns a socket that is connected to the path, or a negative number. It does not wait for a full backlog. */
static int connect_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = length_of(path);
  if (length >= sizeof address.sun_path) die("hold: the path of the socket is too long\n");
  copy_bytes(address.sun_path, path, length);
  long file = CALL3(socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return file;
  long failed = CALL3(connect, file, &address, sizeof address);
  if (failed == 0) return file;
  close_file(file);
  return failed;
}

static long now_ms(void) {
  struct timespec time;
  CALL3(clock_gettime, CLOCK_MONOTONIC, &time, 0);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void pause_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  CALL3(nanosleep, &time, 0, 0);
}
