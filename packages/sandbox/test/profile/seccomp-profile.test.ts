import { describe, expect, it } from "vitest";
import { SECCOMP_PROFILE } from "../../src/profile/seccomp-profile.ts";

describe("the profile's rules for sockets", () => {
  const STREAM = 1;
  const DGRAM = 2;
  const [RAW, SEQPACKET, DCCP] = [3, 5, 6];
  // SOCK_CLOEXEC and SOCK_NONBLOCK
  const FLAGS = 0x80800;

  it.each([
    ["TCP", STREAM, 0],
    ["TCP by its number, with flags", STREAM | FLAGS, 6],
    ["UDP", DGRAM, 17],
    ["a ping", DGRAM, 1],
    ["a ping over IPv6, with flags", DGRAM | FLAGS, 58],
  ])("allow %s", (_what, type, protocol) => {
    expect([2, 10].map((family) => isAllowed(family, type, protocol))).toEqual([true, true]);
  });

  it.each([
    ["SCTP", STREAM, 132],
    ["SCTP without its number", SEQPACKET, 0],
    ["DCCP without its number", DCCP, 0],
    ["MPTCP", STREAM, 262],
    ["L2TP", DGRAM, 115],
    ["UDP-Lite", DGRAM, 136],
    ["raw ICMP", RAW, 1],
    ["TCP as datagrams", DGRAM, 6],
  ])("do not allow %s", (_what, type, protocol) => {
    expect([2, 10].map((family) => isAllowed(family, type, protocol))).toEqual([false, false]);
  });
});

type Rule = {
  readonly names: readonly string[];
  readonly args?: readonly Readonly<Record<"index" | "value" | "valueTwo", number> & { op: string }>[];
};

/** Returns true if a rule of the profile allows the call, as the engine reads it. */
function isAllowed(...call: readonly number[]): boolean {
  const { syscalls } = JSON.parse(SECCOMP_PROFILE) as { readonly syscalls: readonly Rule[] };
  return syscalls
    .filter(({ names }) => names.includes("socket"))
    .some(({ args = [] }) =>
      args.every(({ index, op, value, valueTwo }) => {
        const given = call[index] ?? 0;
        return op === "SCMP_CMP_EQ" ? given === value : (given & value) === valueTwo;
      }),
    );
}
