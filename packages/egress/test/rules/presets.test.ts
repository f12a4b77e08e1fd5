import { readFileSync } from "node:fs";
import { coversName } from "@budgie/core/egress";
import { describe, expect, it } from "vitest";
import { findPreset, PRESETS, presetHosts, type PresetName } from "../../src/rules/presets.ts";
import { TELEMETRY } from "../../src/rules/telemetry.ts";

const names = Object.keys(PRESETS) as PresetName[];

describe("presets", () => {
  it.each(names)("%s names hosts, none of them twice or pinned", (name) => {
    const hosts = presetHosts(name);

    expect(hosts.length).toBeGreaterThan(0);
    expect(new Set(hosts.map(({ host, port }) => `${host}:${port}`)).size).toBe(hosts.length);
    expect(hosts.every(({ address, from }) => address === undefined && from === `preset ${name}`)).toBe(true);
  });

  it("allows plain HTTP to Debian's archives only", () => {
    const plain = names.filter((name) => presetHosts(name).some(({ port }) => port !== 443));

    expect(plain).toEqual(["debian"]);
  });

  it("allow none of the hosts that count as telemetry", () => {
    const telemetry = Object.values(TELEMETRY).flat();
    const allowed = names.flatMap((name) => presetHosts(name).map(({ host }) => host));

    expect(telemetry.filter((host) => allowed.some((pattern) => coversName(pattern, host)))).toEqual([]);
  });

  it.each([
    ["registry.npmjs.org", 443, "npm"],
    ["github.com", 443, "github"],
    ["x.kiro.dev", 443, "kiro"],
    ["deb.debian.org", 80, "debian"],
    ["registry.npmjs.org", 80, undefined],
    ["example.com", 443, undefined],
  ])("have %s on port %i in %s", (host, port, preset) => {
    expect(findPreset({ host, port })).toBe(preset);
  });

  it("are each once in the page's list of hosts that take uploads, which names only hosts of theirs", () => {
    const page = readFileSync(new URL("../../../../docs/egress.md", import.meta.url), "utf8");
    const [, list = ""] = page.slice(page.indexOf("\nA preset names whole hosts")).split("\n\n");
    const rows = list.split("\n").map((row) => row.split(": ").map(listCode));

    expect(rows.flatMap(([presets = []]) => presets).toSorted()).toEqual(names.toSorted());
    for (const [presets = [], hosts = []] of rows) {
      const allowed = presets.flatMap((preset) => presetHosts(preset as PresetName).map(({ host }) => host));
      expect(allowed).toEqual(expect.arrayContaining(hosts));
    }
  });

  it("marks unverified hosts", () => {
    expect(PRESETS.kiro.every(({ unverified }) => unverified)).toBe(true);
    expect(PRESETS.npm.some(({ unverified }) => unverified)).toBe(false);
  });
});

/** Returns what a text has in backticks. */
function listCode(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
