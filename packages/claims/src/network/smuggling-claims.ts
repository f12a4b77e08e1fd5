import type { Claim, Probe } from "../probe/claim.ts";
import { toProxyProbe, toGet } from "./proxy-attack.ts";

const SECOND = toGet("/second", "evil.test");

export const SMUGGLING_CLAIMS: readonly Claim[] = [
  {
    id: "no-smuggled-requests",
    promise: "The proxy forwards one request to the allowed host, in a form that no server reads as something else.",
    protections: ["egress-proxy"],
    probes: [
      toProbe(
        "give a body a length and an encoding",
        ["POST", "Content-Length: 6\r\nTransfer-Encoding: chunked"],
        `0\r\n\r\nX`,
      ),
      toProbe(
        "give a body two lengths by two numbers",
        ["POST", "Content-Length: 1\r\nContent-Length: 40"],
        `X${SECOND}`,
      ),
      toProbe("give a body a list of lengths", ["POST", "Content-Length: 1, 40"], `X${SECOND}`),
      toProbe("give a body a length with a sign", ["POST", "Content-Length: +1"], `X${SECOND}`),
      toProbe(
        "encode a body in a way that only some servers know",
        ["POST", "Transfer-Encoding: xchunked"],
        `0\r\n\r\n${SECOND}`,
      ),
      toProbe(
        "encode a body twice",
        ["POST", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
        `0\r\n\r\n${SECOND}`,
      ),
      toProbe("fold a header", ["GET", `X-Probe: a\r\n b: c\r\n\tHost: evil.test`], ""),
      toProbe("name two hosts", ["GET", "Host: evil.test"], ""),
      toProbe("hide a second host behind a space", ["GET", "Host : evil.test"], ""),
      toProbe("end a line with LF only", ["GET", "X-Probe: a\nHost: evil.test"], ""),
      toProbe("end a line with CR only", ["GET", "X-Probe: a\rHost: evil.test"], ""),
      toProbe("put a NUL into a header", ["GET", "X-Probe: a\0b"], ""),
      toProbe("send a second request after the first", ["GET", "X-Probe: a"], SECOND),
      toProbe("send a second request in a body without a length", ["POST", "X-Probe: a"], SECOND),
      toProbe("have a request sent back with the headers added on the way (TRACE)", ["TRACE", "Max-Forwards: 0"], ""),
      toProbe("upgrade the connection to another protocol", ["GET", "Connection: Upgrade\r\nUpgrade: probe"], SECOND),
      toProxyProbe({
        name: "name one host in the URL and another in the header",
        toAttacks: (port) => [
          { request: toGet(`http://allowed.test:${port}/`, "evil.test") },
          { request: toGet(`http://allowed.test:${port}/`, `evil.test:${port}`) },
          { request: toGet(`http://evil.test:${port}/`, `allowed.test:${port}`) },
        ],
      }),
      toProxyProbe({
        name: "request a URL that is not plain http",
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

/** Creates a probe that sends the allowed host a request with additional headers. */
function toProbe(name: string, [method, headers]: readonly [string, string], body: string): Probe {
  return toProxyProbe({
    name,
    toAttacks: (port) => {
      const host = `allowed.test:${port}`;
      return [{ request: `${method} http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}` }];
    },
  });
}
