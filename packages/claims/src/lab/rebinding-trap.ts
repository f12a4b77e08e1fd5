import { createServer, type AddressInfo, type Socket } from "node:net";
import type { ResolvedAddress } from "@budgie/egress";

/** A name that is public to who checks it and private to who asks again, and whom that leads to. */
export type RebindingTrap = {
  readonly host: string;
  readonly port: number;
  /** How many connections the private address got */
  readonly connections: () => number;
  /** How often the name was said to be public */
  readonly lures: () => number;
  /** Says something else each time */
  readonly resolve: () => readonly ResolvedAddress[];
  readonly close: () => void;
};

// Public to who looks at the address, and no address of its family to the kernel: nothing is sent to it from here.
const LURE: ResolvedAddress = { address: "203.0.113.7", family: 6 };

/** Listens on a private address, for who is led to any of some that it has. */
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
    lures: () => Math.ceil(questions / 2),
    resolve: () => (questions++ % 2 === 0 ? [LURE] : addresses.map((address) => ({ address, family: 4 }))),
    close: () => void server.close(),
  };
}
