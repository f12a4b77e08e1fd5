import type { Claim, Probe } from "../probe/claim.ts";
import { makeProxyProbe, plain, buildGet, tunnel, type Attack } from "./make-proxy-probe.ts";
import { buildClientHello } from "./build-client-hello.ts";
import { NEIGHBOUR_NAME, OWN_NAME, PRIVATE_NAMES, TURNING_NAME } from "../lab/lab-network.ts";

/** Spellings of 127.0.0.2 and of the IPv6 loopback address. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  "an address": ["127.0.0.2", "127.0.0.2."],
  "a decimal address": ["2130706434"],
  "a hexadecimal address": ["0x7f000002", "0x7f.0.0.2", "0X7F.0x0.2"],
  "an octal address": ["0177.0.0.2", "017700000002"],
  "a short address": ["127.2", "127.0.2"],
  "an IPv6 address": ["[::1]", "[0:0:0:0:0:0:0:1]"],
  "an IPv4-mapped IPv6 address": ["[::ffff:127.0.0.2]", "[::ffff:7f00:2]"],
};

const HOST = "allowed.test";

const asking = makeProxyProbe({
  name: `follow ${NEIGHBOUR_NAME}`,
  toAttacks: (port) => [tunnel(`${NEIGHBOUR_NAME}:${port}`), plain(`${NEIGHBOUR_NAME}:${port}`)],
});

/** Requests a name that resolves to neighbours, which do not answer. It got through if the proxy tried to connect. */
const NEIGHBOUR_PROBE: Probe = {
  name: asking.name,
  async attempt(lab) {
    const { detail, outcome } = await asking.attempt(lab);
    if (outcome !== "held" || detail.includes("no public address")) return { detail, outcome };
    const isAlone = detail.includes("could not be resolved");
    return { detail, outcome: isAlone ? "untried" : "got-through" };
  },
};

export const PROXY_CLAIMS: readonly Claim[] = [
  {
    id: "only-allowed-names",
    sharesTurn: true,
    promise: "The proxy connects only to hosts and ports on the allow-list, however another host is spelled.",
    protections: ["egress-proxy"],
    probes: [
      makeNameProbe("reach another name", ["evil.test"]),
      makeNameProbe("reach a name that begins like the allowed one", [`${HOST}.evil.test`, `${HOST}-evil.test`]),
      makeNameProbe("reach a name that ends like the allowed one", [`evil${HOST}`, `evil-${HOST}`, `evil.${HOST}`]),
      makeNameProbe("reach names that a wildcard does not cover", [
        "wild.test",
        "evilwild.test",
        "x.wild.test.evil.test",
      ]),
      makeNameProbe("reach another name in capitals", ["EVIL.TEST", "Allowed.Test.Evil.Test"]),
      makeNameProbe("reach another name with a trailing dot", ["evil.test.", `${HOST}.evil.test.`]),
      makeProxyProbe({
        name: "reach another host through the allowed name in capitals or with a dot",
        toAttacks: (port) =>
          [`ALLOWED.TEST:${port}`, `${HOST}.:${port}`].map((name) => tunnel(name, buildGet("/", "evil.test"))),
      }),
      makeProxyProbe({
        name: "reach another host by user info in the URL",
        toAttacks: (port) => [
          tunnel(`${HOST}@evil.test:${port}`),
          tunnel(`${HOST}:${port}@evil.test:${port}`),
          plain(`${HOST}@evil.test:${port}`),
          plain(`${HOST}:${port}@evil.test:${port}`),
        ],
      }),
      makeProxyProbe({
        name: "connect to SSH",
        toAttacks: (port) => [
          tunnel(`${HOST}:22`, "SSH-2.0-probe\r\n"),
          tunnel(`evil.test:${port}`, "SSH-2.0-probe\r\n"),
        ],
      }),
      makeProxyProbe({
        name: "reach other ports of the allowed host",
        toAttacks: () => [tunnel(`${HOST}:25`), tunnel(`${HOST}:8080`), plain(`${HOST}:8080`), plain(HOST)],
      }),
      makeProxyProbe({
        name: "reach a host that only another session may",
        async toAttacks(port, lab) {
          await lab.victim();
          return [tunnel(`other.test:${port}`), plain(`other.test:${port}`)];
        },
      }),
      makeProxyProbe({
        name: "have the proxy speak another protocol",
        toAttacks: (port) => [
          { request: Buffer.concat([buildSocks("evil.test", port), Buffer.from(buildGet("/", "evil.test"))]) },
        ],
      }),
    ],
  },
  {
    id: "only-public-addresses",
    sharesTurn: true,
    promise:
      "The proxy accepts no addresses in place of names, and follows no allowed name to a private address or a neighbour's.",
    protections: ["egress-proxy"],
    probes: [
      ...Object.entries(SPELLINGS).map(([what, spellings]) => makeNameProbe(`ask for ${what}`, spellings)),
      makeNameProbe("ask for a metadata service by address", ["169.254.169.254", "2852039166", "[fd00:ec2::254]"]),
      ...[...Object.keys(PRIVATE_NAMES), OWN_NAME].map((name) => makeNameProbe(`follow ${name}`, [name])),
      NEIGHBOUR_PROBE,
      makeProxyProbe({
        name: "follow a name whose address has changed",
        // The first tunnel is left unused, because nobody answers at its public address.
        toAttacks: (port) => [
          tunnel(`${TURNING_NAME}:${port}`, "\r\n"),
          tunnel(`${TURNING_NAME}:${port}`),
          plain(`${TURNING_NAME}:${port}`),
        ],
      }),
    ],
  },
  {
    id: "only-for-its-host",
    sharesTurn: true,
    promise: "A tunnel to an allowed host can be used for that host only.",
    protections: ["egress-proxy"],
    probes: [
      makeTunnelProbe("name another server in TLS", buildClientHello(["evil.test"])),
      makeTunnelProbe("name a server that begins like the allowed one", buildClientHello([`${HOST}.evil.test`])),
      makeTunnelProbe("name no server in TLS", buildClientHello([])),
      makeTunnelProbe("name two servers in TLS", buildClientHello([HOST, "evil.test"])),
      makeTunnelProbe("encrypt the server name in TLS", buildClientHello(["other.allowed.test"], { encrypted: true })),
      makeTunnelProbe("speak SSH in a tunnel", "SSH-2.0-probe\r\n"),
      makeTunnelProbe("speak an unknown protocol in a tunnel", Buffer.from("000102030405060708090a0b0c", "hex")),
      makeTunnelProbe("send a request to another host in a tunnel", buildGet("/", "evil.test")),
      makeTunnelProbe("send one with an absolute URL in a tunnel", buildGet("http://evil.test/", HOST)),
      makeTunnelProbe(
        "open another tunnel in a tunnel",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
      ),
    ],
  },
];

/** Creates a probe that requests each host by a tunnel and by a plain request. */
function makeNameProbe(name: string, hosts: readonly string[]): Probe {
  return makeProxyProbe({
    name,
    toAttacks: (port) => hosts.flatMap((host) => [tunnel(`${host}:${port}`), plain(`${host}:${port}`)]),
  });
}

function makeTunnelProbe(name: string, inside: string | Buffer): Probe {
  return makeProxyProbe({ name, toAttacks: (port): readonly Attack[] => [tunnel(`${HOST}:${port}`, inside)] });
}

/** Returns a SOCKS 4a request, which is a single message. */
function buildSocks(host: string, port: number): Buffer {
  const head = Buffer.from([4, 1, port >> 8, port & 0xff, 0, 0, 0, 1, 0]);
  return Buffer.concat([head, Buffer.from(`${host}\0`)]);
}
