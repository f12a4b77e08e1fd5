import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { BASE_IMAGE, testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";

/** A container with an isolated network in which it has all given addresses. */
export type NetworkPlayer = AsyncDisposable & {
  readonly container: string;
  /** The answer of every service there */
  readonly canary: string;
};

/** Starts a container that plays DNS servers, web servers, metadata services and neighbours at these addresses. */
export async function createNetworkPlayer(addresses: readonly string[], resolver: string): Promise<NetworkPlayer> {
  const docker = await testEngine();
  const canary = `canary-played-${randomUUID()}`;
  const container = await docker.createContainer({
    name: `budgie-test-player-${randomUUID().slice(0, 8)}`,
    Image: BASE_IMAGE,
    Labels: { "budgie-test": "player" },
    Entrypoint: ["perl", "-e", PLAY, canary, ...addresses],
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      Init: true,
      NetworkMode: "none",
      Dns: [resolver],
      CapAdd: ["NET_ADMIN"],
      Sysctls: { "net.ipv6.conf.all.disable_ipv6": "0" },
    },
  });
  try {
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    const said = new PassThrough();
    docker.modem.demuxStream(stream, said, said);
    stream.once("end", () => said.end());
    await container.start();
    const [first] = (await Promise.race([once(said, "data"), once(said, "end")])) as readonly unknown[];
    if (String(first).trim() !== "ready") throw new Error(`The network player did not start: ${String(first)}`);
    said.resume();
  } catch (error) {
    await container.remove({ force: true });
    throw error;
  }
  return { container: container.id, canary, [Symbol.asyncDispose]: () => container.remove({ force: true }) };
}

/** The program of a network player, whose arguments are its answer and its addresses. It says "ready" first. */
export const PLAY = `
use strict; use Socket;
$| = 1;
$SIG{CHLD} = "IGNORE";
my ($canary, @addresses) = @ARGV;
sub v6 {
  my ($left, $right) = map { [map { hex } split /:/, $_ // ""] } (split /::/, $_[0])[0, 1];
  return pack("n8", @$left, (0) x (8 - @$left - @$right), @$right);
}
socket(my $four, PF_INET, SOCK_DGRAM, 0) or die "$!";
socket(my $six, PF_INET6, SOCK_DGRAM, 0) or die "$!";
my $number = 0;
for my $address (@addresses) {
  if ($address =~ /:/) {
    ioctl($six, 0x8916, pack("a16 L l", v6($address), $address =~ /^fe80/ ? 64 : 128, 1)) or die "$address: $!";
    next;
  }
  my $label = "lo:" . ++$number;
  # Each in a /32 network, or answers would come from the first address.
  for ([0x8916, $address], [0x891c, "255.255.255.255"]) {
    ioctl($four, $_->[0], pack("a16 S n a4 x8", $label, AF_INET, 0, inet_aton($_->[1]))) or die "$address: $!";
  }
}
my $answer = "\\xc0\\x0c" . pack("n2 N n a4", 1, 1, 60, 4, inet_aton("198.51.100.80"));
sub resolve {
  my ($query) = @_;
  my ($id) = unpack("n", $query);
  my ($name) = substr($query, 12) =~ /^((?:[\\x01-\\x3f].*?)*?\\x00....)/s or return $query;
  my $is_a = substr($name, -4) eq pack("n2", 1, 1);
  return pack("n6", $id, 0x8180, 1, $is_a ? 1 : 0, 0, 0) . $name . ($is_a ? $answer : "");
}
my @open;
for my $port (22, 53, 80, 443) {
  for my $type (SOCK_STREAM, SOCK_DGRAM) {
    socket(my $socket, PF_INET6, $type, 0) or die "$!";
    setsockopt($socket, 41, 26, pack("l", 0)) && setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) or die "$!";
    bind($socket, pack("S n N a16 L", AF_INET6, $port, 0, "\\0" x 16, 0)) or die "$port: $!";
    $type == SOCK_STREAM and (listen($socket, 64) or die "$!");
    push @open, [$socket, $type, $port];
  }
}
# A socket on the wildcard address would answer from another address.
my $engine;
socket($engine, PF_INET, SOCK_DGRAM, 0) && setsockopt($engine, SOL_SOCKET, SO_REUSEADDR, 1)
  && bind($engine, pack_sockaddr_in(53, inet_aton("127.0.0.11"))) or die "$!";
push @open, [$engine, SOCK_DGRAM, 53];
for (@open) {
  my ($socket, $type, $port) = @$_;
  next if fork;
  if ($type == SOCK_DGRAM) {
    while (defined(my $from = recv($socket, my $message, 4096, 0))) {
      send($socket, $port == 53 ? resolve($message) : $canary, 0, $from);
    }
    exit;
  }
  while (accept(my $client, $socket)) {
    if ($port == 53) {
      sysread($client, my $query, 4096);
      my $reply = resolve(substr($query, 2));
      syswrite($client, pack("n", length $reply) . $reply);
    }
    syswrite($client, "HTTP/1.0 200 OK\\r\\n\\r\\n$canary\\n");
    shutdown($client, 1);
    close $client;
  }
  exit;
}
print "ready\\n";
sleep 300;
`;
