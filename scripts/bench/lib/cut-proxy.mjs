import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Opens a proxy on the loopback interface in front of a server, whose connections can be cut. */
export async function openCutProxy({ host, port }) {
  const pairs = new Set();
  let count = 0;
  const server = createServer((client) => {
    count += 1;
    const upstream = connect(port, host);
    const pair = [client, upstream];
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end).setNoDelay(true);
    pairs.add(pair);
    client.pipe(upstream).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  return {
    port: server.address().port,
    cut,
    /** Counts the connections so far */
    count: () => count,
    close() {
      server.close();
      cut();
    },
  };
}
