import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import type { Claim, Probe } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";
import { NETWORK_PRELUDE } from "./network-prelude.ts";

/** Addresses without a host: RFC 5737 and RFC 3849 reserve them for documentation. */
export const NOBODY = { address: "198.51.100.7", address6: "2001:db8::7", resolver: "198.51.100.53" } as const;

const METADATA: Readonly<Record<string, string>> = {
  "most clouds": "169.254.169.254",
  "Amazon's containers": "169.254.170.2",
  "Amazon over IPv6": "fd00:ec2::254",
  "Google over IPv6": "fd20:ce::254",
  Azure: "168.63.129.16",
  Alibaba: "100.100.100.200",
};

/** All addresses that the claims are about, for a test that answers at each of them. */
export const PLAYED_ADDRESSES: readonly string[] = [...Object.values(NOBODY), ...Object.values(METADATA), "fe80::7"];

const GET = '"GET /latest/meta-data/ HTTP/1.0\\r\\n\\r\\n"';

export const NETWORK_CLAIMS: readonly Claim[] = [
  {
    id: "no-direct-network",
    sharesTurn: true,
    promise: "An agent can reach network addresses only through the proxy.",
    protections: ["own-network"],
    probes: [
      makeProbe("connect to an address over TCP", `aim(\\&tcp, at(443, "${NOBODY.address}"), "hello");`),
      makeProbe("connect to its SSH port", `aim(\\&tcp, at(22, "${NOBODY.address}"), "");`),
      makeProbe("send it a datagram", `aim(\\&udp, at(443, "${NOBODY.address}"), "hello");`),
      makeProbe("ping it", `aim(\\&ping, at(0, "${NOBODY.address}"));`),
      makeProbe("connect over IPv6", `aim(\\&tcp, at(443, "${NOBODY.address6}"), "hello");`),
      makeProbe("send a datagram over IPv6", `aim(\\&udp, at(443, "${NOBODY.address6}"), "hello");`),
      makeProbe("reach a link-local IPv6 neighbour", `aim(\\&tcp, at(443, "fe80::7", $_), "hello") for 1;`),
      makeProbe("reach it by an IPv4-mapped IPv6 address", `aim(\\&tcp, at(443, "::ffff:c633:6407"), "hello");`),
    ],
  },
  {
    id: "no-metadata",
    sharesTurn: true,
    promise: "An agent cannot reach a cloud's metadata service.",
    protections: ["own-network"],
    probes: [
      ...Object.entries(METADATA).map(([whose, address]) =>
        makeProbe(`ask the metadata service of ${whose}`, `aim(\\&tcp, at(80, "${address}"), ${GET});`),
      ),
      makeProbe("resolve the name of one", scriptLookup("metadata.google.internal")),
    ],
  },
  {
    id: "no-dns",
    sharesTurn: true,
    promise: "An agent cannot query DNS servers, so no data leaves in names.",
    protections: ["own-network", "name-files"],
    probes: [
      ...["udp", "tcp"].flatMap((how) => [
        makeProbe(`query its own resolver (${how})`, `${scriptQuery(how)} ask_resolvers();`),
        makeProbe(`query the engine's resolver (${how})`, `${scriptQuery(how)} ask(at(53, "127.0.0.11")); held("$!");`),
        makeProbe(
          `query any other DNS server (${how})`,
          `${scriptQuery(how)} aim($how, at(53, "${NOBODY.resolver}"), $query);`,
        ),
        makeProbe(`query this machine (${how})`, ({ network }) => {
          const [own] = network.addresses;
          return own === undefined
            ? 'untried("this machine has no address");'
            : `${scriptQuery(how)} aim($how, at(53, "${own.address}"), $query);`;
        }),
      ]),
      makeProbe("look up a name by the C library", scriptLookup("secret.budgie.test")),
    ],
  },
  {
    id: "no-host-services",
    sharesTurn: true,
    promise: "An agent cannot reach services of this machine or see its network.",
    protections: ["own-network"],
    probes: [
      makeServiceProbe("connect to a service on every address", ({ addresses, everywhere }) =>
        addresses.map(({ address }) => `tcp(at(${everywhere.tcp}, "${address}"), "")`),
      ),
      makeServiceProbe("send it a datagram on every address", ({ addresses, everywhere }) =>
        addresses
          .filter(({ family }) => family === 4)
          .map(({ address }) => `udp(at(${everywhere.udp}, "${address}"), "hello")`),
      ),
      makeServiceProbe("connect to it on the loopback", ({ everywhere }) => [
        `tcp(at(${everywhere.tcp}, "127.0.0.1"), "")`,
        `tcp(at(${everywhere.tcp}, "0.0.0.0"), "")`,
      ]),
      makeServiceProbe("connect to a service that listens only on the loopback", ({ onLoopback }) => [
        `tcp(at(${onLoopback.tcp}, "127.0.0.1"), "")`,
        `tcp(at(${onLoopback.tcp}, "0.0.0.0"), "")`,
        `tcp(at(${onLoopback.tcp}, "::ffff:7f00:1"), "")`,
      ]),
      makeServiceProbe("send it a datagram there", ({ onLoopback }) => [
        `udp(at(${onLoopback.udp}, "127.0.0.1"), "hello")`,
      ]),
      makeProbe("be in the machine's network", () => {
        const own = process.platform === "linux" ? readlinkSync("/proc/self/ns/net") : randomUUID();
        return `my $own = readlink("/proc/self/ns/net") // untried("$!");
          $own eq "${own}" ? through($own) : held("it is another: $own");`;
      }),
      makeProbe(
        "find a network interface",
        `open(my $list, "<", "/proc/net/dev") or untried("$!");
        my @cards = grep { $_ ne "lo" } map { /^\\s*([^:\\s]+):/ ? $1 : () } <$list>;
        @cards ? through("@cards") : held("there is none");`,
      ),
      makeProbe(
        "find a route out",
        `my @routes;
        for my $file ("/proc/net/route", "/proc/net/ipv6_route") {
          open(my $list, "<", $file) or next;
          push @routes, grep { !/\\blo$/ && !/^Iface/ } map { s/\\s+$//r } <$list>;
        }
        @routes ? through($routes[0]) : held("there is none");`,
      ),
      makeProbe(
        "find a listening port besides the proxy's",
        `my @ports;
        for my $file ("/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6") {
          open(my $list, "<", $file) or next;
          while (<$list>) { push @ports, hex $1 if /^\\s*\\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:0000 / && hex $1 != 3128 }
        }
        @ports ? through("@ports") : held("there is none");`,
      ),
    ],
  },
];

function makeProbe(name: string, script: string | ((lab: Lab) => string)): Probe {
  return inPerl(name, (lab) => NETWORK_PRELUDE + (typeof script === "string" ? script : script(lab)));
}

function makeServiceProbe(name: string, toAttempts: (network: Lab["network"]) => readonly string[]): Probe {
  return makeProbe(name, ({ network }) => {
    const attempts = toAttempts(network).map(
      (attempt) => `$got = ${attempt}; $why = "$!";
        through("it answered") if index($got // "", "${network.canary}") >= 0;
        untried("another service answered") if defined $got;`,
    );
    return `my ($got, $why) = (undef, "this machine has no address"); ${attempts.join("\n")} held($why);`;
  });
}

/** Returns a script that looks up a name, but only if no query can leave or a test plays the DNS server. */
function scriptLookup(name: string): string {
  return `my @servers = map { /^nameserver\\s+(\\S+)/ ? $1 : () } do { open(my $f, "<", "/etc/resolv.conf"); <$f> };
    unless (defined $played) { for (@servers) { through("there is a way to $_") if !/^127\\./ && way(at(53, $_)) } }
    my $found = gethostbyname("${name}");
    defined $found ? through(inet_ntoa($found)) : held("it has no address");`;
}

function scriptQuery(how: string): string {
  return `my $how = \\&${how};
    my $query = pack("n6", 4711, 0x0100, 1, 0, 0, 0) . "\\x06secret\\x06budgie\\x04test\\x00" . pack("n2", 1, 1);
    $query = pack("n", length $query) . $query if $how == \\&tcp;
    sub ask { my $got = $how->($_[0], $query); through("it answered") if defined $got }
    sub ask_resolvers {
      open(my $file, "<", "/etc/resolv.conf") or held("there is none: $!");
      for (map { /^nameserver\\s+(\\S+)/ ? $1 : () } <$file>) {
        # A loopback address is the sandbox's own.
        /^127\\./ ? ask(at(53, $_)) : aim($how, at(53, $_), $query);
      }
      held("there is none");
    }`;
}
