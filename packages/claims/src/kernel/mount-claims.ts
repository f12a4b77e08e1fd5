import type { Claim } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";

export const MOUNT_CLAIMS: readonly Claim[] = [
  {
    id: "no-mounts",
    sharesTurn: true,
    promise: "An agent cannot mount, unmount or remount anything.",
    protections: ["user", "capabilities", "seccomp", "apparmor"],
    probes: [
      inPerl("mount a file system", scriptMount("none", "/tmp", "tmpfs", 0)),
      inPerl("mount one folder over another", scriptMount("/workspace", "/tmp", "", 0x1000)),
      inPerl("remount the login's folder writable", scriptMount("none", "/auth", "", 0x1020)),
      inPerl("remount the root file system writable", scriptMount("none", "/", "", 0x1020)),
      inPerl("mount one by the new mount API", 'my $type = "tmpfs"; tried(call("fsopen", $type, 0));'),
      inPerl("uncover what a mount hides", 'my $path = "/etc/passwd"; tried(call("umount2", $path, 2));'),
      inPerl("unmount the workspace", 'my $path = "/workspace"; tried(call("umount2", $path, 2));'),
      // EBUSY and EINVAL mean permitted, but not with these folders.
      inPerl(
        "replace the root file system (pivot_root)",
        'my $path = "/tmp"; tried(call("pivot_root", $path, $path), 16, 22);',
      ),
    ],
  },
  {
    id: "no-namespaces",
    sharesTurn: true,
    promise: "An agent cannot create or enter a namespace, in which it would be root.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      inPerl("create a user namespace", 'tried(call("unshare", 0x10000000));'),
      inPerl("create a mount namespace", 'tried(call("unshare", 0x00020000));'),
      inPerl("create a network namespace", 'tried(call("unshare", 0x40000000));'),
      inPerl("create a PID namespace", 'tried(call("unshare", 0x20000000));'),
      inPerl(
        "enter a namespace",
        'sysopen(my $space, "/proc/self/ns/net", 0) or untried("$!"); tried(call("setns", fileno($space), 0));',
      ),
    ],
  },
];

function scriptMount(source: string, target: string, ...[type, flags]: readonly [string, number]): string {
  return `my ($source, $target, $type) = ("${source}", "${target}", "${type}");
    tried(call("mount", $source, $target, $type, ${flags}, 0));`;
}
