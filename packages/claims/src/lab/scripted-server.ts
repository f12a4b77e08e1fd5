/**
 * Returns the entry of an MCP server that any image with Perl can run. Its tool `run` runs a program; the arguments and the output are in
 * hexadecimal. Every other tool answers with the evidence and the tool's name.
 */
export function scriptedServer(tools: readonly string[], env: Readonly<Record<"EVIDENCE" | "SECRET", string>>) {
  return { command: "perl", args: ["-e", START + PROGRAM, ...tools], env };
}

/** The kinds of messages that a hostile server sends too much of. */
export const EXCESSES = ["lines", "message", "tools", "progress"] as const;

/** Returns the entry of an MCP server that sends too much of one kind: too many tools in its list, else once its tool `go` is called. */
export function excessiveServer(excess: (typeof EXCESSES)[number]) {
  return { command: "perl", args: ["-e", START + EXCESSIVE, excess] };
}

// The last id is the message's own; an agent chooses the arguments before it.
const START = String.raw`
$| = 1;
$SIG{CHLD} = "IGNORE";
sub answer { my ($id, $result) = @_; print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n) }
sub introduce {
  my ($id, $line) = @_;
  my ($version) = $line =~ /"protocolVersion":"([^"]+)"/;
  answer($id, qq({"protocolVersion":"$version","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}));
}
sub offer { my ($id, @names) = @_; answer($id, '{"tools":[' . join(",", map { qq({"name":"$_","inputSchema":{"type":"object"}}) } @names) . "]}") }
`;

const PROGRAM = String.raw`
sub run {
  my ($id, $line) = @_;
  my ($words) = $line =~ /"argv":"([0-9a-f]*)"/;
  my $child = open(my $output, "-|");
  if ($child == 0) { open(STDIN, "<", "/dev/null"); exec split(/\0/, pack("H*", $words)) or exit 127 }
  my $said = unpack("H*", join "", <$output>);
  answer($id, qq({"content":[{"type":"text","text":"$said"}]}));
  exit 0;
}
while (my $line = <STDIN>) {
  my ($method) = $line =~ /"method":"([^"]+)"/;
  my ($id) = $line =~ /.*"id":(\d+)/ or next;
  introduce($id, $line) if $method eq "initialize";
  offer($id, @ARGV) if $method eq "tools/list";
  next unless $method eq "tools/call";
  my ($tool) = $line =~ /"name":"([^"]+)"/;
  if ($tool eq "run") {
    fork or run($id, $line);
    next;
  }
  answer($id, qq({"content":[{"type":"text","text":"$ENV{EVIDENCE}-$tool"}]}));
}`;

// The message has 64 MiB. Without limits, each kind would take budgie seconds or more.
const EXCESSIVE = String.raw`
my ($excess) = @ARGV;
my $line = qq({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":") . "x" x 1000 . qq("}}\n);
while (my $said = <STDIN>) {
  my ($method) = $said =~ /"method":"([^"]+)"/;
  my ($id) = $said =~ /.*"id":(\d+)/ or next;
  introduce($id, $said) if $method eq "initialize";
  offer($id, $excess eq "tools" ? map { "t$_" } 1 .. 20000 : "go") if $method eq "tools/list";
  next unless $method eq "tools/call";
  if ($excess eq "lines") { print $line while 1 }
  if ($excess eq "message") {
    print qq({"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":");
    print "x" x 1048576 for 1 .. 64;
    print qq("}]}}\n);
  }
  my ($token) = $said =~ /"progressToken":(\d+)/;
  print qq({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":$_}}\n) for 1 .. 100000;
  answer($id, qq({"content":[]}));
}`;
