import { NOT_IN_THIS_KERNEL } from "./verdicts.ts";

// The numbers of each system call on x86_64 and aarch64.
const CALLS: Readonly<Record<string, readonly [number, number]>> = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  delete_module: [176, 106],
  fchmodat2: [452, 452],
  finit_module: [313, 273],
  fsopen: [430, 430],
  init_module: [175, 105],
  io_setup: [206, 0],
  io_uring_setup: [425, 425],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mknodat: [259, 33],
  mount: [165, 40],
  mq_open: [240, 180],
  msgget: [68, 186],
  name_to_handle_at: [303, 264],
  openat2: [437, 437],
  open_by_handle_at: [304, 265],
  perf_event_open: [298, 241],
  pivot_root: [155, 41],
  ptrace: [101, 117],
  reboot: [169, 142],
  request_key: [249, 218],
  sethostname: [170, 161],
  setns: [308, 268],
  setxattr: [188, 5],
  shmctl: [31, 195],
  shmget: [29, 194],
  swapon: [167, 224],
  syslog: [103, 116],
  timer_create: [222, 107],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
};

/**
 * The start of every Perl probe. `call` makes a system call, and `tried` reports its result: refused, through, or missing
 * from this kernel. An error number in `@reached` counts as through, because only a permitted call gets that far.
 */
export const PERL_PRELUDE = `
use strict; use warnings; use Config;
$| = 1;
my $nonce = shift @ARGV;
my %calls = (${Object.entries(CALLS)
  .map(([name, numbers]) => `${name} => [${numbers.join(", ")}]`)
  .join(", ")});
my $column = $Config{archname} =~ /^x86_64/ ? 0 : $Config{archname} =~ /^aarch64/ ? 1 : undef;
sub report { my ($outcome, $detail) = @_; $detail =~ tr/\\n/ /; print "\\n$nonce $outcome $detail\\n"; exit 0 }
sub held { report("held", $_[0]) }
sub through { report("got-through", $_[0]) }
sub untried { report("untried", $_[0]) }
sub call {
  # The kernel writes to some arguments, so they are not copied.
  my $name = shift;
  untried("system call numbers are unknown on $Config{archname}") unless defined $column;
  return syscall($calls{$name}[$column], @_);
}
sub tried {
  my ($result, @reached) = @_;
  my $error = $! + 0;
  through("it was done") if defined $result && $result != -1;
  through("the kernel answered: $!") if grep { $_ == $error } @reached;
  held("$!") if $error == 1 || $error == 13 || $error == 30;
  untried("${NOT_IN_THIS_KERNEL} such call") if $error == 38;
  untried("unexpected: $!");
}
`;
