import type { Claim, Probe } from "../probe/claim.ts";
import { makeProxyProbe, buildGet } from "./make-proxy-probe.ts";

const SECOND = buildGet("/second", "evil.test");

export const SMUGGLING_CLAIMS: readonly Claim[] = [
  {
    id: "no-smuggled-requests",
    sharesTurn: true,
    promise: "The proxy forwards one request to the allowed host, in a form that no server reads as something else.",
    protections: ["egress-proxy"],
    probes: [
      makeProbe(
        "give a body a length and an encoding",
        ["POST", "Content-Length: 6\r\nTransfer-Encoding: chunked"],
        `0\r\n\r\nX`,
      ),
      makeProbe(
        "give a body two lengths by two numbers",
        ["POST", "Content-Length: 1\r\nContent-Length: 40"],
        `X${SECOND}`,
      ),
      makeProbe("give a body a list of lengths", ["POST", "Content-Length: 1, 40"], `X${SECOND}`),
      makeProbe("give a body a length with a sign", ["POST", "Content-Length: +1"], `X${SECOND}`),
      makeProbe(
        "encode a body in a way that only some servers know",
        ["POST", "Transfer-Encoding: xchunked"],
        `0\r\n\r\n${SECOND}`,
      ),
      makeProbe(
        "encode a body twice",
        ["POST", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
        `0\r\n\r\n${SECOND}`,
      ),
      makeProbe("fold a header", ["GET", `X-Probe: a\r\n b: c\r\n\tHost: evil.test`], ""),
      makeProbe("name two hosts", ["GET", "Host: evil.test"], ""),
      makeProbe("hide a second host behind a space", ["GET", "Host : evil.test"], ""),
      makeProbe("end a line with LF only", ["GET", "X-Probe: a\nHost: evil.test"], ""),
      makeProbe("end a line with CR only", ["GET", "X-Probe: a\rHost: evil.test"], ""),
      makeProbe("put a NUL into a header", ["GET", "X-Probe: a\0b"], ""),
      makeProbe("send a second request after the first", ["GET", "X-Probe: a"], SECOND),
      makeProbe("send a second request in a body without a length", ["POST", "X-Probe: a"], SECOND),
      makeProbe("have a request sent back with the headers added on the way (TRACE)", ["TRACE", "Max-Forwards: 0"], ""),
      makeProbe("upgrade the connection to another protocol", ["GET", "Connection: Upgrade\r\nUpgrade: probe"], SECOND),
      makeProxyProbe({
        name: "name one host in the URL and another in the header",
        toAttacks: (port) => [
          { request: buildGet(`http://allowed.test:${port}/`, "evil.test") },
          { request: buildGet(`http://allowed.test:${port}/`, `evil.test:${port}`) },
          { request: buildGet(`http://evil.test:${port}/`, `allowed.test:${port}`) },
        ],
      }),
      makeProxyProbe({
        name: "request a URL that is not plain http",
        toAttacks: (port) => [
          { request: buildGet("/", `evil.test:${port}`) },
          { request: buildGet(`https://evil.test:${port}/`, `evil.test:${port}`) },
          { request: buildGet(`http:evil.test:${port}/`, `evil.test:${port}`) },
          { request: buildGet(`//evil.test:${port}/`, `evil.test:${port}`) },
        ],
      }),
    ],
  },
];

/** Creates a probe that sends the allowed host a request with additional headers. */
function makeProbe(name: string, [method, headers]: readonly [string, string], body: string): Probe {
  return makeProxyProbe({
    name,
    toAttacks: (port) => {
      const host = `allowed.test:${port}`;
      return [{ request: `${method} http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}` }];
    },
  });
}
