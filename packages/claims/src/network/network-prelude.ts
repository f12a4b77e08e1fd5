import { NOT_IN_THIS_KERNEL } from "../probe/verdicts.ts";

/**
 * The start of Perl probes that need a network. `tcp`, `udp` and `ping` return the answer, or nothing and the error in `$!`.
 * `aim` attacks an address that may belong to somebody. A route to it already counts as through, and nothing is sent there.
 * Only if a test answers at all addresses and sets `BUDGIE_PLAYED` does `aim` send, and expects that value as the answer.
 */
export const NETWORK_PRELUDE = `
use Socket;
my $played = $ENV{BUDGIE_PLAYED};
sub v6 {
  my ($left, $right) = map { [map { hex } split /:/, $_ // ""] } (split /::/, $_[0])[0, 1];
  return pack("n8", @$left, (0) x (8 - @$left - @$right), @$right);
}
# A port, an address, and a scope id.
sub at {
  my ($port, $address, $link) = @_;
  return pack_sockaddr_in($port, inet_aton($address)) if $address !~ /:/;
  return pack("S n N a16 L", AF_INET6, $port, 0, v6($address), $link // 0);
}
sub open_socket {
  my ($where, $type, $protocol) = @_;
  my $socket;
  socket($socket, sockaddr_family($where), $type, $protocol // 0) and return $socket;
  untried("${NOT_IN_THIS_KERNEL} sockets of this kind") if $! == 97 || $! == 93;
  held("$!");
}
# A sandbox that has no datagrams may have other ways out.
sub way {
  my ($where) = @_;
  socket(my $socket, sockaddr_family($where), SOCK_DGRAM, 0) or return;
  return connect($socket, $where);
}
sub hear {
  my ($socket, $seconds) = @_;
  my ($heard, $end) = ("", time + $seconds + 1);
  while (time < $end) {
    my $ready = "";
    vec($ready, fileno($socket), 1) = 1;
    select($ready, undef, undef, $seconds) > 0 or last;
    sysread($socket, my $more, 65536) or last;
    $heard .= $more;
    last if length $heard > 1_000_000;
  }
  return $heard;
}
sub tcp {
  my ($where, $message) = @_;
  my $socket = open_socket($where, SOCK_STREAM);
  local $SIG{ALRM} = sub { held("no answer to a connection") };
  alarm 5;
  connect($socket, $where) or return;
  alarm 0;
  syswrite($socket, $message) if length $message;
  return "connected " . hear($socket, 2);
}
sub udp {
  my ($where, $message) = @_;
  my $socket = open_socket($where, SOCK_DGRAM);
  connect($socket, $where) && defined send($socket, $message, 0) or return;
  my $heard = hear($socket, 1);
  return length $heard ? $heard : undef;
}
sub ping {
  my ($where) = @_;
  my $socket = open_socket($where, SOCK_DGRAM, 1);
  defined send($socket, pack("CCnnna*", 8, 0, 0, 0, 1, "ping"), 0, $where) or return;
  my $heard = hear($socket, 1);
  return length $heard ? "an echo" : undef;
}
sub aim {
  my ($attempt, $where, @more) = @_;
  my $way = way($where);
  my $why = "$!";
  through("there is a route") if $way && !defined $played;
  my $got = $attempt->($where, @more);
  $why = "$!" unless $way;
  through($got =~ s/[^ -~]+/ /gr) if defined $got && (!defined $played || index($got, $played) >= 0 || $attempt != \\&tcp);
  untried("there is a route, but no answer") if $way;
  held($why);
}
`;
