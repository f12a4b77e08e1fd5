import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer, isIP, isIPv4, type AddressInfo, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { EgressPolicy } from "@budgie/core";
import type { EgressProxy, Lookup, ResolvedAddress } from "@budgie/egress";
import { answerNaively } from "./answer-naively.ts";
import { createRebindingTrap, type RebindingTrap } from "./rebinding-trap.ts";

/** Servers in this process and names that resolve to them: the targets of network probes. */
export type LabNetwork = {
  /** The answer of every server that must be out of reach */
  readonly canary: string;
  /** The allowed host's answer to a well-formed request */
  readonly greeting: string;
  /** Ports open on every address of this machine */
  readonly everywhere: Ports;
  /** Ports open on the loopback only */
  readonly onLoopback: Ports;
  /** The port of the allowed host on 127.0.0.1, and of every other name on 127.0.0.2 and ::1 */
  readonly webPort: number;
  readonly addresses: readonly HostAddress[];
  /** The allow-lists of the attacker and of the other session */
  readonly policy: EgressPolicy;
  readonly otherPolicy: EgressPolicy;
  /** Names that resolve differently each time, by the place of their private address */
  readonly traps: { readonly onLoopback: RebindingTrap; readonly onMachine: RebindingTrap };
  /** The proxy's name resolution, which never contacts a DNS server */
  readonly lookup: Lookup;
  /** The number of lookups without an answer */
  readonly unanswered: () => number;
  [Symbol.asyncDispose](): Promise<void>;
};

type Ports = { readonly tcp: number; readonly udp: number };

/** A non-loopback address of this machine. */
export type HostAddress = { readonly address: string; readonly family: 4 | 6 };

/** Names on the allow-list, each with a private address that must be refused anyway. */
export const PRIVATE_NAMES: Readonly<Record<string, string>> = {
  "loopback.test": "127.0.0.2",
  "loopback6.test": "::1",
  "mapped.test": "::ffff:127.0.0.2",
  "translated.test": "64:ff9b::7f00:2",
  "zero.test": "0.0.0.0",
  "metadata.test": "169.254.169.254",
  "metadata6.test": "fd00:ec2::254",
  "azure.test": "168.63.129.16",
};

/** A name that resolves to this machine's own address on a network. */
export const OWN_NAME = "own.test";

/** The suffix of names whose lookups never get an answer. */
export const SILENT_SUFFIX = ".silent.test";

/** A name that resolves to addresses next to this machine's. */
export const NEIGHBOUR_NAME = "neighbour.test";

/** A name that first resolves to a public address, and then to a private one. */
export const TURNING_NAME = "turning.test";

const PUBLIC = { address: "203.0.113.7", family: 4 };

/** Starts the servers, except those on addresses that this machine lacks. */
export async function createLabNetwork(): Promise<LabNetwork> {
  const [canary, greeting] = [`canary-network-${randomUUID()}`, `welcome-${randomUUID()}`];
  const opened: (() => void)[] = [];
  const sendCanary = (socket: Socket): void => void socket.on("error", () => undefined).end(canary);
  const listen = async (onSocket: (socket: Socket) => void, host: string, port = 0): Promise<number> => {
    const server = createServer(onSocket);
    opened.push(() => server.close());
    return listening(server, host, port);
  };
  const answer = async (host: string): Promise<number> => {
    const socket = createSocket("udp4");
    socket.on("message", (_, { address, port }) => socket.send(canary, port, address, () => undefined));
    opened.push(() => socket.close());
    return new Promise((resolve, reject) => {
      socket.once("error", reject).bind(0, host, () => resolve(socket.address().port));
    });
  };
  const everywhere = { tcp: await listen(sendCanary, "0.0.0.0"), udp: await answer("0.0.0.0") };
  // Some machines have no IPv6.
  await listen(sendCanary, "::", everywhere.tcp).catch(() => undefined);
  const onLoopback = { tcp: await listen(sendCanary, "127.0.0.1"), udp: await answer("127.0.0.1") };
  const webPort = await listen(answerNaively({ host: "allowed.test", greeting, canary }), "127.0.0.1");
  await listen(answerWithCanary(canary), "127.0.0.2", webPort).catch(() => undefined);
  await listen(answerWithCanary(canary), "::1", webPort).catch(() => undefined);
  const addresses = listHostAddresses();
  const traps = await createTraps(addresses, answerWithCanary(canary));
  opened.push(traps.onLoopback.close, traps.onMachine.close);
  let unanswered = 0;
  const known = createLookup(addresses[0]?.address ?? "127.0.0.2", Object.values(traps));
  const lookup: Lookup = async (host) => {
    if (!host.endsWith(SILENT_SUFFIX)) return known(host);
    unanswered += 1;
    return new Promise(() => undefined);
  };
  const policy = buildPolicy(webPort, Object.values(traps));
  const other = { host: "other.test", port: webPort, address: "127.0.0.2", from: "the lab" };
  return {
    canary,
    greeting,
    everywhere,
    onLoopback,
    webPort,
    addresses,
    policy,
    otherPolicy: { ...policy, hosts: [...policy.hosts, other] },
    traps,
    lookup,
    unanswered: () => unanswered,
    [Symbol.asyncDispose]: async () => {
      for (const close of opened) close();
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, ipv6Only: true }, () => resolve((server.address() as AddressInfo).port));
  });
}

function answerWithCanary(canary: string): (socket: Socket) => void {
  return (socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${canary}\n`));
  };
}

async function createTraps(
  addresses: readonly HostAddress[],
  onSocket: (socket: Socket) => void,
): Promise<LabNetwork["traps"]> {
  const loopback = ["127.0.0.1"];
  const own = addresses.filter(({ family }) => family === 4).map(({ address }) => address);
  return {
    onLoopback: await createRebindingTrap("rebinding.test", onSocket, { listenOn: "127.0.0.1", addresses: loopback }),
    onMachine: await createRebindingTrap("rebinding-own.test", onSocket, {
      listenOn: "0.0.0.0",
      addresses: own.length > 0 ? own : loopback,
    }),
  };
}

function buildPolicy(port: number, traps: readonly RebindingTrap[]): EgressPolicy {
  const from = "the lab";
  const names = [
    ...Object.keys(PRIVATE_NAMES),
    OWN_NAME,
    NEIGHBOUR_NAME,
    TURNING_NAME,
    "*.wild.test",
    `*${SILENT_SUFFIX}`,
  ];
  return {
    mode: "allowlist",
    hosts: [
      { host: "allowed.test", port, address: "127.0.0.1", from },
      ...[...names.map((host) => ({ host, port })), ...traps].map((known) => {
        return { host: known.host, port: known.port, address: undefined, from };
      }),
    ],
  };
}

/** Starts the real proxy with the lab's name resolution. */
export async function startLabProxy({ lookup }: LabNetwork): Promise<EgressProxy> {
  const { createEgressProxy } = await import("@budgie/egress");
  return createEgressProxy({ lookup });
}

/** Lists this machine's non-loopback, non-link-local addresses. */
export function listHostAddresses(): readonly HostAddress[] {
  const entries = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  // A link-local address needs a scope id, which differs in a sandbox.
  const own = entries.filter(({ address, internal }) => !internal && !address.startsWith("fe80:"));
  return own.map(({ address }) => ({ address, family: isIPv4(address) ? 4 : 6 }));
}

/** Returns one address of each of this machine's networks that is not its own. */
function listNeighbours(): readonly ResolvedAddress[] {
  const entries = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const shared = entries.filter(({ address, cidr, internal }) => {
    return !internal && !address.startsWith("fe80:") && !/\/(?:32|128)$/.test(cidr ?? "/32");
  });
  return shared.map(({ address }) => {
    const at = Math.max(address.lastIndexOf("."), address.lastIndexOf(":")) + 1;
    const base = isIPv4(address) ? 10 : 16;
    const next = (Number.parseInt(address.slice(at) || "0", base) ^ 1).toString(base);
    return { address: address.slice(0, at) + next, family: isIP(address) };
  });
}

function createLookup(own: string, traps: readonly RebindingTrap[]): Lookup {
  let isTurned = false;
  return async (host) => {
    const trap = traps.find((known) => known.host === host);
    if (trap !== undefined) return trap.resolve();
    if (host === NEIGHBOUR_NAME) return listNeighbours();
    const address = host === OWN_NAME ? own : (PRIVATE_NAMES[host] ?? "127.0.0.2");
    if (host !== TURNING_NAME || isTurned) return [{ address, family: isIP(address) }];
    isTurned = true;
    return [PUBLIC];
  };
}
