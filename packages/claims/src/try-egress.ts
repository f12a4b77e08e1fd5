import { once } from "node:events";
import { Duplex } from "node:stream";
import type { AllowedHost, EgressPolicy } from "@budgie/core";
import type { Probe, Verdict } from "./probe/claim.ts";
import { inPerl, NO_PERL } from "./probe/in-sandbox.ts";
import { createLab, type LabOptions } from "./lab/lab.ts";
import { attempt } from "./prove.ts";

/** The egress policy to try in a sandbox. */
export type EgressTrial = {
  readonly policy: EgressPolicy;
  /** A host of the policy without a wildcard. No other host is contacted */
  readonly allowed: AllowedHost | undefined;
};

/** One observation about a sandbox's egress; `untried` if the image lacks the programs to try it. */
export type EgressAnswer = { readonly state: "as-it-should" | "broken" | "untried"; readonly text: string };

/** Tries from sandboxes whether an allowed host is reached, another host is refused, and DNS is closed. Removes all it created. */
export async function tryEgress(options: LabOptions, trial: EgressTrial): Promise<readonly EgressAnswer[]> {
  // The trial is about the user's own hosts, so it uses the real proxy and real name resolution.
  await using lab = await createLab(options, {});
  const make = ({ attempt: tried, name }: Probe): Promise<Verdict> => attempt(lab, { name, attempt: tried });
  const { allowed } = trial;
  const [reached, refused, resolved] = await Promise.all([
    allowed === undefined ? undefined : make(await createReachingProbe(allowed, trial)),
    make(makeRefusedProbe(trial)),
    make(makeResolvingProbe(trial)),
  ]);
  options.signal?.throwIfAborted();
  return [
    ...(allowed === undefined || reached === undefined ? [] : [judgeReached(allowed, reached)]),
    judgeClosed(refused, {
      good: `"${findRefusedTarget(trial)}" is refused, because it is not allowed`,
      bad: `"${findRefusedTarget(trial)}" is not allowed, and was not refused`,
    }),
    judgeClosed(resolved, { good: "no DNS server answers a sandbox", bad: "a DNS server answers a sandbox" }),
  ];
}

/** Returns a target that the policy refuses. In mode `open` only a private address is refused without contacting anyone. */
function findRefusedTarget({ policy }: EgressTrial): string {
  return policy.mode === "open" ? "127.0.0.1:443" : "not-allowed.invalid:443";
}

async function createReachingProbe({ host, port }: AllowedHost, { policy }: EgressTrial): Promise<Probe> {
  // The proxy dials only after a client's first bytes. Nothing is sent after the hello.
  const hello = (await createHello(host)).toString("hex");
  const script = `${ASK}
    my ($status, $said, $proxy) = ask('${host}:${port}');
    held($said) if $status ne "200";
    syswrite($proxy, pack("H*", "${hello}"));
    sysread($proxy, my $answer, 7) or held("it hung up without an answer");
    held("it could not be reached") if $answer eq pack("C*", 21, 3, 3, 0, 2, 2, 80);
    held("the proxy hung up") if $answer eq pack("C*", 21, 3, 3, 0, 2, 2, 49);
    through("it answered");`;
  return inPerl("reach an allowed host", script, { access: { egress: policy } });
}

function makeRefusedProbe(trial: EgressTrial): Probe {
  // Without a proxy there is no status 403.
  const refused = trial.policy.mode === "none" ? '$status ne "200"' : '$status eq "403"';
  const script = `${ASK}
    my ($status, $said) = ask('${findRefusedTarget(trial)}');
    ${refused} ? held($said) : through($said);`;
  return inPerl("reach a host that is not allowed", script, { access: { egress: trial.policy } });
}

function makeResolvingProbe({ policy }: EgressTrial): Probe {
  return inPerl("ask a DNS server", RESOLVE, { access: { egress: policy } });
}

/** Creates the first message of a TLS client. */
async function createHello(servername: string): Promise<Buffer> {
  // Loaded on demand, so that a server that tries nothing does not load it.
  const { connect } = await import("node:tls");
  const wire = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer) => void wire.emit("said", bytes),
  });
  const said = once(wire, "said");
  const client = connect({ socket: wire, servername }).on("error", () => undefined);
  const [hello] = (await said) as [Buffer];
  client.destroy();
  return hello;
}

const ASK = `
  use Socket;
  $SIG{ALRM} = sub { held("no answer within 20 s") };
  alarm 20;
  sub ask {
    my ($target) = @_;
    socket(my $proxy, PF_INET, SOCK_STREAM, 0);
    connect($proxy, sockaddr_in(3128, inet_aton("127.0.0.1"))) or return ("", "no proxy answers: $!");
    syswrite($proxy, "CONNECT $target HTTP/1.1\\r\\nHost: $target\\r\\n\\r\\n");
    my $answer = "";
    while ($answer !~ /\\r\\n\\r\\n/) { sysread($proxy, $answer, 4096, length $answer) or last }
    my ($status) = $answer =~ /^HTTP\\/1.1 (\\d{3}) /;
    return ("", "the proxy hung up") unless defined $status;
    if ($status ne "200") { 1 while sysread($proxy, $answer, 4096, length $answer) }
    my ($said) = $answer =~ /\\r\\n\\r\\n([^\\n]+)/;
    return ($status, defined $said ? $said : "the proxy lets it through", $proxy);
  }`;

// Any answer counts, including NXDOMAIN.
const RESOLVE = `
  use Socket;
  my @servers = ("127.0.0.1", "127.0.0.11");
  if (open(my $file, "<", "/etc/resolv.conf")) { push @servers, map { /^nameserver\\s+([\\d.]+)\\s*$/ } <$file> }
  my $query = pack("n6", 7, 256, 1, 0, 0, 0) . pack("(C/a*)*x", "not-allowed", "invalid") . pack("n2", 1, 1);
  for my $server (@servers) {
    socket(my $socket, PF_INET, SOCK_DGRAM, 0);
    connect($socket, sockaddr_in(53, inet_aton($server))) && defined send($socket, $query, 0) or next;
    my $ready = ""; vec($ready, fileno $socket, 1) = 1;
    next unless select($ready, undef, undef, 2);
    through($server) if defined recv($socket, my $answer, 512, 0);
  }
  held(join(", ", @servers));`;

function judgeReached({ from, host, port }: AllowedHost, { detail, outcome }: Verdict): EgressAnswer {
  const target = `"${host}:${port}"`;
  if (outcome === "got-through") return { state: "as-it-should", text: `${target} is reached from a sandbox` };
  if (detail === NO_PERL) return { state: "untried", text: `${target} was not tried: ${detail}` };
  return { state: "broken", text: `${target} is allowed (${from}), but not reached from a sandbox: ${detail}` };
}

function judgeClosed(
  { detail, outcome }: Verdict,
  { bad, good }: { readonly good: string; readonly bad: string },
): EgressAnswer {
  if (outcome === "held") return { state: "as-it-should", text: good };
  if (outcome === "got-through") return { state: "broken", text: `${bad}: ${detail}` };
  return { state: detail === NO_PERL ? "untried" : "broken", text: `could not confirm that ${good}: ${detail}` };
}
