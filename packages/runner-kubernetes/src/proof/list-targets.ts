import { lookup } from "node:dns/promises";
import { isIP, isIPv6 } from "node:net";
import { orAborted } from "@budgie/core/bounds";
import type { Target } from "./judge-walls.ts";

/** The addresses of a cluster that are known. */
export type KnownAddresses = {
  /** Addresses and port of the API server, as the kubeconfig names it */
  readonly api: readonly HostPort[];
  /** The Service of the API server, as Pods get it; `undefined` if the Pod does not say it */
  readonly service: HostPort | undefined;
  /** Address of the Pod's node; `undefined` if the cluster does not say it */
  readonly node: string | undefined;
};

export type HostPort = { readonly host: string; readonly port: number };

const LOOKUP_MS = 5_000;
const MOST_ADDRESSES = 4;
const LOOPBACK = /^127\.|^::1$/;
const KUBELET = 10_250;
const API = 6_443;

/** Lists what no agent may reach. */
export function listTargets({ api, node, service }: KnownAddresses): readonly Target[] {
  const own = (port: number, name: string): readonly Target[] =>
    node === undefined ? [] : [{ at: toWord("tcp", { host: node, port }), name, isOwnNode: true }];
  const found: readonly Target[] = [
    ...own(KUBELET, "the kubelet of its own node"),
    ...own(API, "an API server of its own node"),
    ...api.map((place) => ({
      at: toWord("tcp", place),
      name: "the API server",
      isOwnNode: place.host === node,
    })),
    ...(service === undefined ? [] : listServices(service, node)),
    { at: "tcp:169.254.169.254:80", name: "the cloud's metadata service" },
    { at: "tcp:[fd00:ec2::254]:80", name: "the cloud's metadata service" },
    { at: "tcp:1.1.1.1:443", name: "the internet" },
  ];
  // The API server may be the node's.
  return found.filter(({ at }, index) => found.findIndex((one) => one.at === at) === index);
}

function listServices(service: HostPort, node: string | undefined): readonly Target[] {
  const dns = { host: findDns(service.host), port: 53 };
  const leadsTo = node === undefined ? {} : { leadsTo: toWord("tcp", { host: node, port: API }) };
  return [
    { at: toWord("tcp", service), name: "the API server's Service", ...leadsTo },
    { at: toWord("tcp", dns), name: "the cluster's DNS" },
    { at: toWord("udp", dns), name: "the cluster's DNS" },
  ];
}

/** Returns the tenth address of the Services' network, which installers give to its DNS. The API server has the first one. */
function findDns(service: string): string {
  return isIPv6(service) ? service.replace(/:[^:]*$/, ":a") : service.replace(/\.[^.]*$/, ".10");
}

/** Returns an address in the words of `hold probe`. */
export function toWord(protocol: "tcp" | "udp", { host, port }: HostPort): string {
  return `${protocol}:${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Resolves to the addresses of a server that Pods could reach too; empty if its name is known only elsewhere. */
export async function findAddresses(server: URL): Promise<readonly HostPort[]> {
  const name = server.hostname.replace(/^\[|\]$/g, "");
  const port = Number(server.port === "" ? (server.protocol === "http:" ? 80 : 443) : server.port);
  const found = await orAborted(lookup(name, { all: true }), AbortSignal.timeout(LOOKUP_MS)).catch(() => []);
  const hosts = found.map(({ address }) => address).filter((address) => !LOOPBACK.test(address));
  return hosts.slice(0, MOST_ADDRESSES).map((host) => ({ host, port }));
}

/** Returns the address that a Pod said, such as `10.0.0.1:443`; `undefined` for anything else. */
export function parseHostPort(said: unknown): HostPort | undefined {
  const [, host = "", port] = (typeof said === "string" && /^(.{1,45}):(\d{1,5})$/.exec(said)) || [];
  return isIP(host) !== 0 && Number(port) > 0 && Number(port) < 65_536 ? { host, port: Number(port) } : undefined;
}
