import { createServer } from "node:http";
import { connect } from "node:net";
import { serveOnLoopback, type FakeLlm, type LoopbackServer } from "@budgie/testkit";

/** Creates a proxy that tunnels to the model, by its name, and refuses all other hosts. */
export function createModelProxy(llm: FakeLlm): Promise<LoopbackServer> {
  const server = createServer((_request, response) => response.writeHead(403).end());
  server.on("connect", ({ url }, client) => {
    client.on("error", () => undefined);
    if (url !== `llm.test:${llm.port}`) {
      client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const model = connect(llm.port, "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    model.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("close", () => model.destroy());
    client.pipe(model).pipe(client);
  });
  return serveOnLoopback(server);
}
