import { createServer, type AddressInfo, type Socket } from "node:net";
import type { ResolvedAddress } from "@budgie/egress";

/** A host name that resolves alternately to a public and a private address, and the server at the private one. */
export type RebindingTrap = {
  readonly host: string;
  readonly port: number;
  /** The number of connections to the private address */
  readonly connections: () => number;
  /** The number of times the name resolved to the public address */
  readonly publicAnswers: () => number;
  /** Resolves the name, each time to the other kind of address */
  readonly resolve: () => readonly ResolvedAddress[];
  readonly close: () => void;
};

// A check sees a public address, but the kernel rejects it for its family, so nothing is ever sent to it.
const PUBLIC: ResolvedAddress = { address: "203.0.113.7", family: 6 };

/** Creates a trap that listens on a private address and resolves to any of `addresses`. */
export async function createRebindingTrap(
  host: string,
  onSocket: (socket: Socket) => void,
  { addresses, listenOn }: { readonly listenOn: string; readonly addresses: readonly string[] },
): Promise<RebindingTrap> {
  let [connections, questions] = [0, 0];
  const server = createServer((socket) => {
    connections += 1;
    onSocket(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, listenOn, () => resolve());
  });
  return {
    host,
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    publicAnswers: () => Math.ceil(questions / 2),
    resolve: () => (questions++ % 2 === 0 ? [PUBLIC] : addresses.map((address) => ({ address, family: 4 }))),
    close: () => void server.close(),
  };
}
