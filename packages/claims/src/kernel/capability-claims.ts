import { chmod, chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

export const CAPABILITY_CLAIMS: readonly Claim[] = [
  {
    id: "no-capabilities",
    sharesTurn: true,
    promise: "An agent has no Linux capabilities and can do nothing that requires one.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      inSandbox("have a capability", scriptSet("CapEff")),
      inSandbox("find one in its bounding set", scriptSet("CapBnd")),
      inSandbox("change a file's owner", scriptCommand('touch "$HOME/given"; chown 12345 "$HOME/given"')),
      inSandbox("read another user's file", async (lab) => {
        await createForeignFile(lab);
        return `${findForeignFile()}
${scriptCommand('head -c 1 "$file"')}`;
      }),
      inPerl("open a raw socket", "socket(my $socket, 2, 3, 1) ? tried(0) : tried(-1);"),
      inPerl("become another user", "$< = $> = 12345; $> == 12345 ? through('uid 12345') : tried(-1);"),
      inPerl("give a program capabilities", giveCapabilities),
      inPerl("open host files by file handle", openByHandle),
      inPerl("change its root directory", "chroot('/tmp') ? tried(0) : tried(-1);"),
    ],
  },
  {
    id: "no-setuid",
    sharesTurn: true,
    promise: "A setuid program runs with the agent's own privileges.",
    protections: ["no-new-privileges"],
    probes: [
      inPerl("run a setuid program as its owner", async (lab) => {
        await lendProgram(lab);
        return runSetuid();
      }),
      inSandbox("have the kernel allow setuid programs", scriptFlag("NoNewPrivs", "1")),
    ],
  },
  {
    id: "no-setuid-files",
    sharesTurn: true,
    promise: "An agent cannot leave a setuid file in its workspace.",
    protections: ["seccomp"],
    probes: [
      inPerl("make a file setuid", scriptLending("chmod 04755, $file;")),
      inPerl("make an open file setuid", scriptLending("open(my $open, '<', $file); chmod 04755, $open;")),
      inPerl(
        "make a file setuid by the newest system call",
        scriptLending('call("fchmodat2", -100, $file, 04755, 0);'),
      ),
      inPerl("create a setuid file", scriptLending("unlink $file; sysopen(my $new, $file, 0101, 04755);")),
      inPerl(
        "create one by a system call whose arguments seccomp cannot read",
        scriptLending('unlink $file; my $how = pack("Q3", 0101, 04755, 0); call("openat2", -100, $file, $how, 24);'),
      ),
      inPerl("create one as a node", scriptLending('unlink $file; call("mknodat", -100, $file, 0104755, 0);')),
    ],
  },
];

function scriptLending(attempt: string): string {
  return `
  my $file = "/workspace/lending-" . substr($nonce, -12);
  open(my $made, ">", $file) or untried("$!"); close $made;
  umask 0;
  $! = 0;
  ${attempt}
  my $why = "$!";
  -u $file ? through("it is there") : held($why);`;
}

function scriptSet(set: string): string {
  return scriptFlag(set, "0000000000000000");
}

function scriptFlag(name: string, held: string): string {
  return `value=$(sed -n 's/^${name}:[[:space:]]*//p' /proc/self/status)
    case $value in "") untried "/proc does not say";; ${held}) held "${name} $value";; *) through "${name} $value";; esac`;
}

/** Returns a script that is through if the command succeeds, and else held with its output. */
function scriptCommand(command: string): string {
  return `said=$( (${command}) 2>&1 ) && through "it was done"; held "$said"`;
}

/** Creates a file of another user in the workspace. Only root can; for others, a root-owned file of the image serves. */
async function createForeignFile({ workspace }: Lab): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const file = join(workspace, "foreign-file");
  await writeFile(file, "another user's\n", { mode: 0o600 });
  await chown(file, 12345, 12345);
}

function findForeignFile(): string {
  return `
  read -r _ outside _ </proc/self/uid_map
  [ "$outside" = 0 ] || untried "with mapped user ids, other users are unknown"
  for file in /workspace/foreign-file /etc/shadow; do [ -e "$file" ] && break; done
  [ -e "$file" ] || untried "there is no file of another user"`;
}

// A file's capabilities are an extended attribute; this one holds CAP_NET_RAW.
function giveCapabilities(): string {
  return `
  my ($file, $name) = ("$ENV{HOME}/given-capabilities", "security.capability");
  open(my $out, ">", $file) or untried("$!");
  my $value = pack("L5", 0x02000001, 1 << 13, 0, 0, 0);
  tried(call("setxattr", $file, $name, $value, length $value, 0));`;
}

function openByHandle(): string {
  return `
  for my $candidate ("/workspace", "/home", "/etc/hostname") {
    my $path = $candidate;
    my ($handle, $mount) = (pack("L l", 128, 0) . ("\\0" x 128), pack("l", 0));
    my $named = call("name_to_handle_at", -100, $path, $handle, $mount, 0);
    next if $named == -1 && $! + 0 != 1;
    sysopen(my $place, $path, 0) or next;
    tried(call("open_by_handle_at", fileno($place), $handle, 0));
  }
  untried("no file system here supports file handles");`;
}

/**
 * Puts a program into the workspace that is setuid for another user, as a repository of root's may contain. Only root can;
 * for others, the root-owned setuid programs of the image serve.
 */
async function lendProgram({ run, workspace }: Lab): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await run(["/bin/sh", "-c", "cp /bin/cat /workspace/lent"]);
  const program = join(workspace, "lent");
  await chown(program, 12345, 12345);
  // Changing the owner clears the setuid bit, so it is set afterwards.
  await chmod(program, 0o4755);
}

// The program waits for input that never comes; meanwhile /proc shows its effective user.
function runSetuid(): string {
  return `
  my @candidates = ("/workspace/lent", map { ("/usr/bin/$_", "/bin/$_") } qw(su passwd chsh newgrp));
  my ($program) = grep { -u $_ && !-O $_ && -x $_ } @candidates;
  untried("there is no program that is setuid for another user") unless defined $program;
  pipe(my $read, my $write);
  my $child = fork;
  if (!$child) {
    open(STDIN, "<&", $read); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null");
    exec { $program } $program or exit 1;
  }
  my ($name) = $program =~ m{([^/]+)$};
  my $seen;
  for (1 .. 100) {
    open(my $status, "<", "/proc/$child/status") or last;
    my $text = join "", <$status>;
    my ($effective) = $text =~ /^Uid:\\s+\\d+\\s+(\\d+)/m;
    through("$program ran as uid $effective") if $effective != $>;
    $seen = 1 if $text =~ /^Name:\\s+\\Q$name\\E$/m;
    select(undef, undef, undef, 0.005);
  }
  kill "KILL", $child;
  $seen ? held("$program ran as uid $>") : untried("$program did not run");`;
}
