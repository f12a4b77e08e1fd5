/*
 * The kernel's calls, and what programs without a libc share: the forwarder, and packages/runner-kubernetes/hold.
 * A program that includes it defines `begin`, which the kernel's first instruction reaches.
 */
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
__asm__(".global _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

static long kernel(long call, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(call), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__asm__(".global _start\n_start: mov x0, sp\n b begin\n");

static long kernel(long call, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = call, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#endif

#define CALL6(name, a, b, c, d, e, f) \
  kernel(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL5(name, a, b, c, d, e) CALL6(name, a, b, c, d, e, 0)
#define CALL4(name, a, b, c, d) CALL5(name, a, b, c, d, 0)
#define CALL3(name, a, b, c) CALL5(name, a, b, c, 0, 0)

static void die(const char *message) {
  size_t length = 0;
  while (message[length] != 0) length++;
  CALL3(write, 2, message, length);
  CALL3(exit_group, 1, 0, 0);
  __builtin_unreachable();
}

/* The compiler may emit calls of it even in freestanding code. */
__attribute__((used)) void *memset(void *start, int byte, size_t length) {
  for (size_t i = 0; i < length; i++) ((unsigned char *)start)[i] = byte;
  return start;
}

static void close_file(int file) { CALL3(close, file, 0, 0); }

static int is_same(const char *one, const char *other) {
  while (*one != 0 && *one == *other) one++, other++;
  return *one == *other;
}
