import { expect, it } from "vitest";
import { isReachable } from "../../src/config/is-safe-url.ts";

const FAR = "https://example.com/mcp";
const HERE = "http://127.0.0.1:8080/mcp";

it.each([
  ["https://login.example.com/token", FAR, true],
  ["http://login.example.com/token", FAR, false],
  ["http://127.0.0.1:9000/token", FAR, false],
  ["https://localhost/token", FAR, false],
  ["http://[::1]:9000/token", FAR, false],
  ["http://127.0.0.1:9000/token", HERE, true],
  ["https://login.example.com/token", HERE, true],
  ["https://user@login.example.com/token", FAR, false],
  ["javascript:alert(1)", HERE, false],
  ["file:///etc/passwd", HERE, false],
  ["no address", HERE, false],
])("a server leads to %s, from %s: %s", (url, server, expected) => {
  expect(isReachable(url, server)).toBe(expected);
});
