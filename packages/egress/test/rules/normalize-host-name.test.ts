import { describe, expect, it } from "vitest";
import { isAddressSpelling, normalizeHostName } from "../../src/rules/normalize-host-name.ts";

const ADDRESSES = ["1.2.3.4", "1.2.3.4.", "127.1", "2130706433", "0x7f.1", "0X7F000001", "0x", "017700000001", "a.1"];

describe("normalizeHostName", () => {
  it.each([...ADDRESSES, "::1", "[::1]", "fe80::1%eth0"])("parses %s as an address, and not as a name", (text) => {
    expect(isAddressSpelling(text)).toBe(true);
    expect(normalizeHostName(text)).toBeUndefined();
  });

  it.each([
    ["Example.COM.", "example.com"],
    ["1.example", "1.example"],
    ["0x7f.example", "0x7f.example"],
    ["a1", "a1"],
  ])("normalises %s to %s", (text, name) => {
    expect(isAddressSpelling(text)).toBe(false);
    expect(normalizeHostName(text)).toBe(name);
  });

  it.each(["", ".", "a..b", "a.com..", "a b", "a\u0000b", "ä.test", "a/b", "a@b"])("rejects %j", (text) => {
    expect(normalizeHostName(text)).toBeUndefined();
  });
});
