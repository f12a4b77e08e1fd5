import type { Probe } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

/** A request to the proxy, and the bytes sent through the tunnel once it is open. */
export type Attack = { readonly request: string | Buffer; readonly inside?: string | Buffer };

/** A probe of the proxy as a list of attacks. */
export type ProxyProbe = {
  readonly name: string;
  readonly toAttacks: (port: number, lab: Lab) => readonly Attack[] | Promise<readonly Attack[]>;
};

/**
 * Creates a probe that attacks the proxy from a turn. It is held if each attack is refused or reaches only the allowed host,
 * and untried if that host cannot be reached at all.
 */
export function makeProxyProbe({ name, toAttacks }: ProxyProbe): Probe {
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

/** Returns an attack that opens a tunnel and sends a request through it, by default to the same host. */
export function tunnel(authority: string, inside: string | Buffer = buildGet("/", authority)): Attack {
  return { request: `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, inside };
}

/** Returns an attack by a plain HTTP request to a proxy. */
export function plain(authority: string): Attack {
  return { request: buildGet(`http://${authority}/`, authority) };
}

/** Returns a GET request without a body. */
export function buildGet(target: string, host: string): string {
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
  index(ask($_[0], ""), $greeting) >= 0 or untried("the proxy does not reach the allowed host");
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
