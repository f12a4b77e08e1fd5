// node tls-server.mjs ADDRESS: a TLS server in a separate process, so that it takes no time from the proxy. The parent's first
// message has its key and certificate; its own message has its port. GET /BYTES/SPEED returns BYTES zeros at SPEED bytes a second.
import { createServer } from "node:https";

const CHUNK = Buffer.alloc(64 * 1024);

process.once("message", ({ cert, key }) => {
  const server = createServer({ cert, key, noDelay: true }, ({ url }, response) => {
    const [bytes, bytesPerS] = url.slice(1).split("/").map(Number);
    const began = performance.now();
    let sent = 0;
    response.writeHead(200, { "content-length": bytes });
    const send = () => {
      while (sent < bytes) {
        if (sent / bytesPerS > (performance.now() - began) / 1000) return void setTimeout(send, 1);
        const chunk = CHUNK.subarray(0, bytes - sent);
        sent += chunk.length;
        if (!response.write(chunk)) return;
      }
      response.off("drain", send).end();
    };
    response.on("drain", send);
    send();
  });
  server.listen(0, process.argv[2], () => process.send({ port: server.address().port }));
});
process.once("disconnect", () => process.exit());
