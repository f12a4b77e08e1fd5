import type { Probe } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

/** What is said to the proxy, and what is said once it has let a tunnel through. */
export type Attack = { readonly request: string | Buffer; readonly inside?: string | Buffer };

export type ProxyProbe = {
  readonly name: string;
  readonly toAttacks: (port: number, lab: Lab) => readonly Attack[] | Promise<readonly Attack[]>;
};

/**
 * A probe of the proxy, from a turn. It is held if each attack is refused, or leads to the allowed host as it should; and it
 * is no probe where that host cannot be reached at all.
 */
export function toProxyProbe({ name, toAttacks }: ProxyProbe): Probe {
  return inPerl(name, async (lab) => {
    const { canary, greeting, webPort } = lab.network;
    const attacks = (await toAttacks(webPort, lab)).map(({ inside = "", request }) => {
      return `attack("${toHex(request)}", "${toHex(inside)}");`;
    });
    return `my ($canary, $greeting) = ("${canary}", "${greeting}");
      ${PROXY_PRELUDE}
      allowed("${toHex(`GET http://allowed.test:${webPort}/ HTTP/1.1\r\nHost: allowed.test:${webPort}\r\n\r\n`)}");
      ${attacks.join("\n")}
      conclude();`;
  });
}

/** A tunnel to a host, with a request in it that is the host's own business. */
export function tunnel(authority: string, inside: string | Buffer = toGet("/", authority)): Attack {
  return { request: `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, inside };
}

/** A plain request to a host, as a proxy gets them. */
export function plain(authority: string): Attack {
  return { request: toGet(`http://${authority}/`, authority) };
}

/** The head of a request that has no body. */
export function toGet(target: string, host: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
}

function toHex(bytes: string | Buffer): string {
  return (typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes).toString("hex");
}

// The proxy says why it refuses: by an HTTP status, or by a TLS alert in a tunnel. It only hangs up on noise.
const PROXY_PRELUDE = `
use Socket;
sub connect_to_proxy {
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or untried("$!");
  connect($socket, pack_sockaddr_in(3128, inet_aton("127.0.0.1"))) or untried("there is no proxy: $!");
  return $socket;
}
sub hear {
  my ($socket, $until) = @_;
  my $heard = "";
  my $end = time + 6;
  while (time < $end && length $heard < 1_000_000) {
    last if defined $until && $heard =~ $until;
    my $ready = "";
    vec($ready, fileno($socket), 1) = 1;
    select($ready, undef, undef, 1) or next;
    sysread($socket, my $more, 65536) or last;
    $heard .= $more;
  }
  return $heard;
}
$SIG{PIPE} = "IGNORE";
sub ask {
  my ($request, $inside) = map { pack("H*", $_) } @_;
  my $socket = connect_to_proxy();
  syswrite($socket, $request);
  return hear($socket) unless length $inside;
  my $heard = hear($socket, qr/\\r\\n\\r\\n/);
  return $heard unless $heard =~ m{^HTTP/1\\.[01] 2\\d\\d};
  syswrite($socket, $inside);
  return hear($socket);
}
sub allowed {
  index(ask($_[0], ""), $greeting) >= 0 or untried("the allowed host is not reached by the proxy");
}
my ($attacks, $through, $why) = (0, 0, undef);
sub attack {
  my $heard = ask(@_);
  $attacks++;
  $through++ if index($heard, $canary) >= 0;
  return if index($heard, $canary) >= 0 || index($heard, $greeting) >= 0;
  my $said = $heard =~ m{^HTTP/1\\.1 [45]\\d\\d [^\\r]*(?:.*?\\r\\n\\r\\n([^\\r\\n]*))?}s ? $1 || "refused"
    : $heard =~ /^\\x15\\x03/ ? "refused in TLS" : $heard eq "" ? "hung up" : untried("unexpected: " . substr($heard, 0, 100));
  $why //= $said;
}
sub conclude {
  through($through == $attacks ? "all $attacks" : "$through of $attacks") if $through;
  held($why // "only the allowed host was reached");
}
`;
