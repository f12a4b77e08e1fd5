/*
 * hold prepare FROM TO FOLDER...: makes the folders, and copies hold and its seccomp profile from the folder FROM to the
 * folder TO. Kubelet runs it in the sidecar's container before it makes the container of the agent, which needs all that.
 */

/* Copies a file between folders. It appears whole, under the second name first. */
static int publish(int from, int to, const char *name, const char *part) {
  long source = CALL4(openat, from, name, O_RDONLY | O_CLOEXEC, 0), put;
  long target = CALL4(openat, to, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (source < 0 || target < 0) return 0;
  while ((put = CALL4(sendfile, target, source, 0, PAYLOAD)) > 0);
  if (put < 0 || CALL3(fchmod, target, 0555, 0) < 0) return 0;
  close_file(source);
  close_file(target);
  return CALL4(renameat, to, part, to, name) == 0;
}

__attribute__((noreturn)) static void prepare(const char *from, const char *to, const char *const *folders) {
  for (; *folders; folders++)
    if (CALL3(mkdirat, AT_FDCWD, *folders, 0755) < 0 && open_folder(AT_FDCWD, *folders) < 0)
      refuse(*folders, ": cannot make this folder\n");
  int source = open_folder(AT_FDCWD, from), target = open_folder(AT_FDCWD, to);
  if (!publish(source, target, "profile.bpf", ".profile.bpf") || !publish(source, target, "hold", ".hold"))
    refuse(to, ": cannot copy hold and its profile into this folder\n");
  CALL3(exit_group, 0, 0, 0);
  __builtin_unreachable();
}
