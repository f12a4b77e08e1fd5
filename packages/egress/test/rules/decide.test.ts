import { describe, expect, it } from "vitest";
import { decide } from "../../src/rules/decide.ts";
import { presetHosts } from "../../src/rules/presets.ts";
import { toPolicy } from "../helpers/proxy-place.ts";

const allowed = (address?: string) => ({ allowed: true, address });
const denied = (why: string) => ({ allowed: false, why });

describe("decide", () => {
  const list = toPolicy("allowlist", "a.test", "*.b.test", "deep.b.test=10.0.0.1", "*.x.b.test=10.0.0.2", "p.test:80");

  it.each([
    ["a.test", 443, allowed()],
    ["a.test", 80, denied("port not on the allow-list")],
    ["A.test", 443, denied("not on the allow-list")],
    ["sub.a.test", 443, denied("not on the allow-list")],
    ["b.test", 443, denied("not on the allow-list")],
    ["c.b.test", 443, allowed()],
    ["deep.b.test", 443, allowed("10.0.0.1")],
    ["c.x.b.test", 443, allowed("10.0.0.2")],
    ["p.test", 80, allowed()],
    ["p.test", 443, denied("port not on the allow-list")],
  ])("on an allow-list, lets the most specific entry decide on %s:%i", (host, port, decision) => {
    expect(decide(list, host, port)).toEqual(decision);
  });

  it.each([
    ["codex", "ab.chatgpt.com"],
    ["qwen", "gb4w8c3ygj-default-sea.rum.aliyuncs.com"],
  ] as const)("tells the telemetry of the preset %s from other hosts, unless the list has it", (preset, host) => {
    const hosts = presetHosts(preset).map((entry) => ({ ...entry, from: `${entry.from}, --allow-preset` }));
    const own = toPolicy("allowlist", host).hosts;

    expect(decide({ mode: "allowlist", hosts }, host, 443)).toEqual(denied("known telemetry"));
    expect(decide({ mode: "allowlist", hosts: [...hosts, ...own] }, host, 443)).toEqual(allowed());
    expect(decide(list, host, 443)).toEqual(denied("not on the allow-list"));
    expect(decide({ mode: "allowlist", hosts }, "evil.test", 443)).toEqual(denied("not on the allow-list"));
  });

  it("allows every name and port under an open policy, with pinned addresses", () => {
    const open = toPolicy("open", "a.test=10.0.0.1");

    expect(decide(open, "other.test", 22)).toEqual(allowed());
    expect(decide(open, "a.test", 443)).toEqual(allowed("10.0.0.1"));
  });

  it.each(["none", "bridge"] as const)("allows nothing in the mode %s", (mode) => {
    expect(decide(toPolicy(mode, "a.test"), "a.test", 443)).toEqual(denied("no network is allowed"));
  });
});
