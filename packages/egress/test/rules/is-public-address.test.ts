import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { isPublicAddress } from "../../src/rules/is-public-address.ts";

describe("isPublicAddress", () => {
  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "192.0.2.7",
    "198.51.100.7",
    "203.0.113.7",
    "2606:4700::1111",
    "2001:db8::7",
  ])("treats %s as public", (address) => {
    expect(isPublicAddress(address, {})).toBe(true);
  });

  it.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:a9fe:a9fe",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff:ffff:ffff::1".replace("3fff", "4000"),
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2606:4700::1111%eth0",
    "",
    "localhost",
    "999.1.1.1",
  ])("does not treat %j as public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it("treats no address of this machine as public", () => {
    const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);

    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ address }) => isPublicAddress(address))).toEqual([]);
  });

  it.each<[string, string, string | null, boolean]>([
    ["a neighbour in IPv6", "2a01:4f8:1:2::7", "2a01:4f8:1:2::1/64", false],
    ["one on the other side of it", "2a01:4f8:1:3::7", "2a01:4f8:1:2::1/64", true],
    ["a neighbour in IPv4", "8.8.4.130", "8.8.4.140/26", false],
    ["one of the next subnet", "8.8.4.200", "8.8.4.140/26", true],
    ["the only address of a link", "8.8.4.140", "8.8.4.140/32", false],
    ["anybody, from a link with one address", "8.8.4.141", "8.8.4.140/32", true],
    ["the address of a link with a mask that is none", "8.8.4.140", null, false],
    ["anybody, from such a link", "8.8.4.141", null, true],
  ])("judges %s", (...[, address, cidr, isPublic]) => {
    const own = cidr?.split("/")[0] ?? "8.8.4.140";
    const interfaces = {
      lo: [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }],
      eth0: [{ address: own, cidr }],
    };

    expect(isPublicAddress(address, interfaces)).toBe(isPublic);
  });
});
