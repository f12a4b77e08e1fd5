import type { Claim, Probe } from "../probe/claim.ts";
import { toProxyProbe, plain, toGet, tunnel, type Attack } from "./proxy-attack.ts";
import { toClientHello } from "./client-hello.ts";
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

const asking = toProxyProbe({
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
    promise: "The proxy connects only to hosts and ports on the allow-list, however another host is spelled.",
    protections: ["egress-proxy"],
    probes: [
      toNameProbe("reach another name", ["evil.test"]),
      toNameProbe("reach a name that begins like the allowed one", [`${HOST}.evil.test`, `${HOST}-evil.test`]),
      toNameProbe("reach a name that ends like the allowed one", [`evil${HOST}`, `evil-${HOST}`, `evil.${HOST}`]),
      toNameProbe("reach names that a wildcard does not cover", [
        "wild.test",
        "evilwild.test",
        "x.wild.test.evil.test",
      ]),
      toNameProbe("reach another name in capitals", ["EVIL.TEST", "Allowed.Test.Evil.Test"]),
      toNameProbe("reach another name with a trailing dot", ["evil.test.", `${HOST}.evil.test.`]),
      toProxyProbe({
        name: "reach another host through the allowed name in capitals or with a dot",
        toAttacks: (port) =>
          [`ALLOWED.TEST:${port}`, `${HOST}.:${port}`].map((name) => tunnel(name, toGet("/", "evil.test"))),
      }),
      toProxyProbe({
        name: "reach another host by user info in the URL",
        toAttacks: (port) => [
          tunnel(`${HOST}@evil.test:${port}`),
          tunnel(`${HOST}:${port}@evil.test:${port}`),
          plain(`${HOST}@evil.test:${port}`),
          plain(`${HOST}:${port}@evil.test:${port}`),
        ],
      }),
      toProxyProbe({
        name: "connect to SSH",
        toAttacks: (port) => [
          tunnel(`${HOST}:22`, "SSH-2.0-probe\r\n"),
          tunnel(`evil.test:${port}`, "SSH-2.0-probe\r\n"),
        ],
      }),
      toProxyProbe({
        name: "reach other ports of the allowed host",
        toAttacks: () => [tunnel(`${HOST}:25`), tunnel(`${HOST}:8080`), plain(`${HOST}:8080`), plain(HOST)],
      }),
      toProxyProbe({
        name: "reach a host that only another session may",
        async toAttacks(port, lab) {
          await lab.victim();
          return [tunnel(`other.test:${port}`), plain(`other.test:${port}`)];
        },
      }),
      toProxyProbe({
        name: "have the proxy speak another protocol",
        toAttacks: (port) => [
          { request: Buffer.concat([toSocks("evil.test", port), Buffer.from(toGet("/", "evil.test"))]) },
        ],
      }),
    ],
  },
  {
    id: "only-public-addresses",
    promise:
      "The proxy accepts no addresses in place of names, and follows no allowed name to a private address or a neighbour's.",
    protections: ["egress-proxy"],
    probes: [
      ...Object.entries(SPELLINGS).map(([what, spellings]) => toNameProbe(`ask for ${what}`, spellings)),
      toNameProbe("ask for a metadata service by address", ["169.254.169.254", "2852039166", "[fd00:ec2::254]"]),
      ...[...Object.keys(PRIVATE_NAMES), OWN_NAME].map((name) => toNameProbe(`follow ${name}`, [name])),
      NEIGHBOUR_PROBE,
      toProxyProbe({
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
    promise: "A tunnel to an allowed host can be used for that host only.",
    protections: ["egress-proxy"],
    probes: [
      toTunnelProbe("name another server in TLS", toClientHello(["evil.test"])),
      toTunnelProbe("name a server that begins like the allowed one", toClientHello([`${HOST}.evil.test`])),
      toTunnelProbe("name no server in TLS", toClientHello([])),
      toTunnelProbe("name two servers in TLS", toClientHello([HOST, "evil.test"])),
      toTunnelProbe("encrypt the server name in TLS", toClientHello(["other.allowed.test"], { encrypted: true })),
      toTunnelProbe("speak SSH in a tunnel", "SSH-2.0-probe\r\n"),
      toTunnelProbe("speak an unknown protocol in a tunnel", Buffer.from("000102030405060708090a0b0c", "hex")),
      toTunnelProbe("send a request to another host in a tunnel", toGet("/", "evil.test")),
      toTunnelProbe("send one with an absolute URL in a tunnel", toGet("http://evil.test/", HOST)),
      toTunnelProbe("open another tunnel in a tunnel", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"),
    ],
  },
];

/** Creates a probe that requests each host by a tunnel and by a plain request. */
function toNameProbe(name: string, hosts: readonly string[]): Probe {
  return toProxyProbe({
    name,
    toAttacks: (port) => hosts.flatMap((host) => [tunnel(`${host}:${port}`), plain(`${host}:${port}`)]),
  });
}

function toTunnelProbe(name: string, inside: string | Buffer): Probe {
  return toProxyProbe({ name, toAttacks: (port): readonly Attack[] => [tunnel(`${HOST}:${port}`, inside)] });
}

/** Returns a SOCKS 4a request, which is a single message. */
function toSocks(host: string, port: number): Buffer {
  const head = Buffer.from([4, 1, port >> 8, port & 0xff, 0, 0, 0, 1, 0]);
  return Buffer.concat([head, Buffer.from(`${host}\0`)]);
}
