import { chmod, chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Claim } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

export const CAPABILITY_CLAIMS: readonly Claim[] = [
  {
    id: "no-capabilities",
    promise: "An agent has no capability, nor anything that needs one.",
    protections: ["user", "capabilities", "seccomp"],
    probes: [
      inSandbox("have a capability", toSetProbe("CapEff")),
      inSandbox("find one that a program could give it", toSetProbe("CapBnd")),
      inSandbox("give a file away", toCommandProbe('touch "$HOME/given"; chown 12345 "$HOME/given"')),
      inSandbox("read another user's file", async (lab) => {
        await makeStrangersFile(lab);
        return `${findStrangersFile()}
${toCommandProbe('head -c 1 "$file"')}`;
      }),
      inPerl("open a raw socket", "socket(my $socket, 2, 3, 1) ? tried(0) : tried(-1);"),
      inPerl("become another user", "$< = $> = 12345; $> == 12345 ? through('uid 12345') : tried(-1);"),
      inPerl("give a program capabilities", giveCapabilities),
      inPerl("open host files by their handles", openByHandle),
      inPerl("change its root folder", "chroot('/tmp') ? tried(0) : tried(-1);"),
    ],
  },
  {
    id: "no-setuid",
    promise: "A program that is setuid runs with the agent's own rights.",
    protections: ["no-new-privileges"],
    probes: [
      inPerl("run a program as the user that it is setuid for", async (lab) => {
        await lendProgram(lab);
        return runSetuid();
      }),
      inSandbox("have the kernel allow it", toFlagProbe("NoNewPrivs", "1")),
    ],
  },
  {
    id: "no-setuid-files",
    promise: "An agent leaves no file in its workspace that runs with the rights of its owner, whoever starts it.",
    protections: ["seccomp"],
    probes: [
      inPerl("make a file setuid", toLendingProbe("chmod 04755, $file;")),
      inPerl("make an open file setuid", toLendingProbe("open(my $open, '<', $file); chmod 04755, $open;")),
      inPerl("make it so by the newest call", toLendingProbe('call("fchmodat2", -100, $file, 04755, 0);')),
      inPerl("create a setuid file", toLendingProbe("unlink $file; sysopen(my $new, $file, 0101, 04755);")),
      inPerl(
        "create it by the call that no filter can look into",
        toLendingProbe('unlink $file; my $how = pack("Q3", 0101, 04755, 0); call("openat2", -100, $file, $how, 24);'),
      ),
      inPerl("create it as a node", toLendingProbe('unlink $file; call("mknodat", -100, $file, 0104755, 0);')),
    ],
  },
];

function toLendingProbe(attempt: string): string {
  return `
  my $file = "/workspace/lending-" . substr($nonce, -12);
  open(my $made, ">", $file) or untried("$!"); close $made;
  umask 0;
  $! = 0;
  ${attempt}
  my $why = "$!";
  -u $file ? through("it is there") : held($why);`;
}

function toSetProbe(set: string): string {
  return toFlagProbe(set, "0000000000000000");
}

function toFlagProbe(name: string, held: string): string {
  return `value=$(sed -n 's/^${name}:[[:space:]]*//p' /proc/self/status)
    case $value in "") untried "/proc does not say";; ${held}) held "${name} $value";; *) through "${name} $value";; esac`;
}

/** Through if the command succeeds, and held with what it says if not. */
function toCommandProbe(command: string): string {
  return `said=$( (${command}) 2>&1 ) && through "it was done"; held "$said"`;
}

/** Only root can; for an ordinary user a file of root's will do, which the image has. */
async function makeStrangersFile({ workspace }: Lab): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const file = join(workspace, "strangers-file");
  await writeFile(file, "a stranger's\n", { mode: 0o600 });
  await chown(file, 12345, 12345);
}

function findStrangersFile(): string {
  return `
  read -r _ outside _ </proc/self/uid_map
  [ "$outside" = 0 ] || untried "who is another user is not known where ids are mapped"
  for file in /workspace/strangers-file /etc/shadow; do [ -e "$file" ] && break; done
  [ -e "$file" ] || untried "there is no file of another user"`;
}

// The extended attribute that a file's capabilities are in, with CAP_NET_RAW.
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
  untried("no file system here gives handles");`;
}

/**
 * A program in the workspace that is setuid for another user, as a repository of root's may hold. Only root can make one; for
 * an ordinary user those of the image do, which are root's.
 */
async function lendProgram({ run, workspace }: Lab): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await run(["/bin/sh", "-c", "cp /bin/cat /workspace/lent"]);
  const program = join(workspace, "lent");
  await chown(program, 12345, 12345);
  // After the change of the owner, which takes the bit away.
  await chmod(program, 0o4755);
}

// It waits for input that never comes, and meanwhile the kernel says as whom it runs.
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
