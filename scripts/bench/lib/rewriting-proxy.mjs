// A proxy in front of the real engine that rewrites requests to create containers. All other bytes pass unchanged.
import { openEngineProxy } from "./engine-proxy.mjs";

const CREATION = /^POST \S*\/containers\/create(?:\?\S*)? HTTP\/1\.1\r\n/;

/** Opens a socket in front of an engine. `rewrite` maps the body of each request to create a container. */
export function openRewritingProxy(engine, rewrite) {
  return openEngineProxy(engine, (client, upstream) => {
    pass(client, upstream, rewrite);
    upstream.on("data", (chunk) => client.write(chunk));
  });
}

/** Forwards a connection. Each request starts with a new chunk, because budgie sends the next one only after an answer. */
function pass(client, engine, rewrite) {
  let creation = Buffer.alloc(0);
  client.on("data", (chunk) => {
    if (creation.length === 0 && !CREATION.test(chunk.toString("latin1", 0, 1024))) return engine.write(chunk);
    creation = Buffer.concat([creation, chunk]);
    const request = parseRequest(creation);
    if (request === undefined) return;
    creation = Buffer.alloc(0);
    const body = Buffer.from(JSON.stringify(rewrite(JSON.parse(request.body))));
    engine.write(request.head.replace(/^content-length: \d+/im, `Content-Length: ${body.length}`));
    engine.write(body);
  });
}

/** Parses a request, or returns `undefined` while it is incomplete. */
function parseRequest(bytes) {
  const end = bytes.indexOf("\r\n\r\n") + 4;
  if (end < 4) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
  if (Number.isNaN(length)) throw new Error("A request to create a container has no Content-Length.");
  return bytes.length < end + length ? undefined : { head, body: bytes.toString("utf8", end, end + length) };
}
