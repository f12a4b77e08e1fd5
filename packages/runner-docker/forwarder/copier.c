/*
 * forwarder copy unpack FOLDER: makes what the records on stdin say below an empty folder, and prints "done" after the last.
 * forwarder copy pack FOLDER: prints the records of all that is below a folder.
 * forwarder copy list FOLDER PATH...: prints a letter for each path below a folder, and a newline.
 *
 * A record is a header, a path, and the target of a link or the content of a file. This file is a part of forwarder.c. It
 * follows no symlink below the folder, where an agent may have made any; nothing else runs there meanwhile.
 */
#include <dirent.h>
#include <sys/stat.h>

enum { LEVELS = 130, NAMES = LEVELS * 256 + 256, TARGET = 4096 };

/* All numbers are little-endian, as both machines are. */
struct record {
  unsigned char kind; /* a letter of KINDS */
  unsigned char unused[3];
  unsigned mode, path, target; /* the lengths of path and target in bytes */
  unsigned long size;
  long modified; /* in seconds */
};

/* mode: the mode of a folder that exists, once it is filled. A path that is missing is only listed. */
enum { FOLDER = 'd', FILE_ = 'f', LINK = 'l', OTHER = 'o', MODE = 'm', END = 'e', MISSING = '-' };

static char names[NAMES], target_of_link[TARGET + 1];
static unsigned char held[BUFFER], moving[BUFFER];
static unsigned held_bytes;

static size_t length_of(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

/* Says which path failed, and with which number. */
__attribute__((noreturn)) static void fail(const char *path, long error) {
  char digits[8];
  unsigned at = sizeof digits;
  for (long rest = -error; at == sizeof digits || (rest > 0 && at > 0); rest /= 10) digits[--at] = '0' + rest % 10;
  CALL3(write, 2, "error ", 6);
  CALL3(write, 2, digits + at, sizeof digits - at);
  CALL3(write, 2, " at ", 4);
  CALL3(write, 2, path, length_of(path));
  die("\n");
  __builtin_unreachable();
}

static void read_all(int file, void *into, unsigned long bytes) {
  for (unsigned long done = 0; done < bytes;) {
    long got = CALL3(read, file, (char *)into + done, bytes - done);
    if (got == -EINTR) continue;
    if (got <= 0) fail(names, got == 0 ? -ENODATA : got);
    done += got;
  }
}

static void write_all(int file, const void *from, unsigned long bytes) {
  for (unsigned long done = 0; done < bytes;) {
    long put = CALL3(write, file, (const char *)from + done, bytes - done);
    if (put == -EINTR) continue;
    if (put <= 0) fail(names, put);
    done += put;
  }
}

static void flush(void) {
  write_all(1, held, held_bytes);
  held_bytes = 0;
}

/* Small pieces are gathered: the engine makes a message of each write. */
static void print(const void *from, unsigned bytes) {
  for (unsigned at = 0; at < bytes; at++) {
    if (held_bytes == sizeof held) flush();
    held[held_bytes++] = ((const unsigned char *)from)[at];
  }
}

static int is_name(const char *name) {
  return name[0] != 0 && !(name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)));
}

/*
 * Opens the folder of a path below `root`, and points `name` at the last part of the path. Returns a negative number if a
 * folder on the way is missing or a link.
 */
static long open_parent(int root, char *path, char **name) {
  long folder = root;
  for (char *part = path, *at = path;; at++) {
    if (*at != '/' && *at != 0) continue;
    char end = *at;
    *at = 0;
    int usable = is_name(part);
    if (!usable || end == 0) {
      *name = part;
      return usable ? folder : -EINVAL;
    }
    long next = CALL4(openat, folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    *at = end;
    if (folder != root) close_file(folder);
    if (next < 0) return next;
    folder = next;
    part = at + 1;
  }
}

static long make_file(int folder, const char *name, const struct record *it) {
  long file = CALL4(openat, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return file;
  for (unsigned long left = it->size; left > 0;) {
    unsigned long piece = left < sizeof moving ? left : sizeof moving;
    read_all(0, moving, piece);
    write_all(file, moving, piece);
    left -= piece;
  }
  struct timespec times[2] = {{.tv_sec = it->modified}, {.tv_sec = it->modified}};
  CALL4(utimensat, file, 0, times, 0);
  long failed = CALL3(fchmod, file, it->mode, 0);
  close_file(file);
  return failed;
}

static long make(int folder, const char *name, const struct record *it) {
  long failed;
  switch (it->kind) {
    case FOLDER:
      failed = CALL3(mkdirat, folder, name, 0700);
      return failed < 0 ? failed : CALL3(fchmodat, folder, name, it->mode);
    case MODE: return CALL3(fchmodat, folder, name, it->mode);
    case LINK: return CALL3(symlinkat, target_of_link, folder, name);
    case FILE_: return make_file(folder, name, it);
    default: return -EINVAL;
  }
}

static void unpack(int root) {
  for (;;) {
    struct record it;
    read_all(0, &it, sizeof it);
    if (it.kind == END) return write_all(1, "done\n", 5);
    if (it.path >= sizeof names || it.target > TARGET) fail("", -ENAMETOOLONG);
    read_all(0, names, it.path);
    names[it.path] = 0;
    read_all(0, target_of_link, it.target);
    target_of_link[it.target] = 0;
    char *name;
    long folder = open_parent(root, names, &name), failed = folder < 0 ? folder : make(folder, name, &it);
    if (failed < 0) fail(names, failed);
    if (folder != root) close_file(folder);
  }
}

static void print_record(struct record it, unsigned path) {
  it.path = path;
  print(&it, sizeof it);
  print(names, path);
  print(target_of_link, it.target);
}

/* Opens an entry of the user's, who may have taken the right to read it away from itself. */
static long open_entry(int folder, const char *name, unsigned mode, int flags) {
  if ((mode & 0500) != 0500) CALL3(fchmodat, folder, name, mode | 0500);
  long file = CALL4(openat, folder, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (file < 0) fail(names, file);
  return file;
}

/* Gives an entry its own mode back, once all below a folder is read. */
static void close_entry(long file, unsigned mode) {
  if ((mode & 0500) != 0500) CALL3(fchmod, file, mode, 0);
  close_file(file);
}

static void pack_file(long file, const struct record *it, unsigned path) {
  print_record(*it, path);
  flush();
  for (unsigned long left = it->size; left > 0;) {
    unsigned long piece = left < sizeof moving ? left : sizeof moving;
    read_all(file, moving, piece);
    write_all(1, moving, piece);
    left -= piece;
  }
}

static void pack_folder(int folder, unsigned path, int level);

static void pack_entry(int folder, const char *name, unsigned path, int level) {
  struct stat facts;
  long failed = CALL4(newfstatat, folder, name, &facts, AT_SYMLINK_NOFOLLOW);
  if (failed < 0) fail(names, failed);
  struct record it = {.kind = OTHER, .mode = facts.st_mode & 07777, .modified = facts.st_mtim.tv_sec};
  if (S_ISDIR(facts.st_mode)) {
    it.kind = FOLDER;
    print_record(it, path);
    /* The host takes nothing from so far down. */
    if (level == LEVELS) return;
    long file = open_entry(folder, name, it.mode, O_DIRECTORY);
    pack_folder(file, path, level + 1);
    close_entry(file, it.mode);
  } else if (S_ISREG(facts.st_mode)) {
    it.kind = FILE_;
    it.size = facts.st_size;
    long file = open_entry(folder, name, it.mode, 0);
    pack_file(file, &it, path);
    close_entry(file, it.mode);
  } else {
    long length = S_ISLNK(facts.st_mode) ? CALL4(readlinkat, folder, name, target_of_link, TARGET) : -1;
    if (length >= 0) it.kind = LINK, it.target = length;
    print_record(it, path);
  }
}

/* `path` is the length of the folder's path in `names`. */
static void pack_folder(int folder, unsigned path, int level) {
  unsigned char entries[4096] __attribute__((aligned(8)));
  for (;;) {
    long bytes = CALL3(getdents64, folder, entries, sizeof entries);
    if (bytes < 0) fail(names, bytes);
    if (bytes == 0) return;
    for (long at = 0; at < bytes;) {
      const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
      at += entry->d_reclen;
      if (!is_name(entry->d_name)) continue;
      unsigned end = path;
      if (end > 0) names[end++] = '/';
      for (const char *from = entry->d_name; *from != 0; from++) names[end++] = *from;
      names[end] = 0;
      pack_entry(folder, entry->d_name, end, level);
      names[path] = 0;
    }
  }
}

static char kind_of(int root, const char *path) {
  unsigned length = length_of(path);
  if (length >= sizeof names) return OTHER;
  for (unsigned at = 0; at <= length; at++) names[at] = path[at];
  char *name;
  struct stat facts;
  long folder = open_parent(root, names, &name);
  long failed = folder < 0 ? folder : CALL4(newfstatat, folder, name, &facts, AT_SYMLINK_NOFOLLOW);
  if (folder >= 0 && folder != root) close_file(folder);
  if (failed < 0) return failed == -ENOENT ? MISSING : OTHER;
  return S_ISDIR(facts.st_mode) ? FOLDER : S_ISREG(facts.st_mode) ? FILE_ : S_ISLNK(facts.st_mode) ? LINK : OTHER;
}

/* Has the arguments after the word "copy". */
__attribute__((noreturn)) static void copy(long count, const char *const *arguments) {
  if (count < 2) die("usage: forwarder copy unpack|pack|list FOLDER [PATH...]\n");
  /* An agent may have closed the folder itself too, whose mode is in no record. */
  CALL3(fchmodat, AT_FDCWD, arguments[1], 0755);
  long root = CALL4(openat, AT_FDCWD, arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (root < 0) fail(arguments[1], root);
  switch (arguments[0][0]) {
    case 'u': unpack(root); break;
    case 'p':
      pack_folder(root, 0, 1);
      print_record((struct record){.kind = END}, 0);
      break;
    default:
      for (long index = 2; index < count; index++) print((char[]){kind_of(root, arguments[index])}, 1);
      print("\n", 1);
  }
  flush();
  CALL3(exit_group, 0, 0, 0);
  __builtin_unreachable();
}
