import type { AllowedHost } from "@budgie/core";
import { parseAllowedHost, presetHosts, PRESETS, type PresetName } from "@budgie/egress/allow-list";

/** Hosts to allow as they are written down. */
export type HostWishes = {
  readonly allowHost: readonly string[];
  readonly allowPreset: readonly PresetName[];
};

/** Where the two lists of a wish were written, such as `--allow-host`. */
export type WishSources = Readonly<Record<keyof HostWishes, string>>;

export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

/** The preset of the program that runs agents: without its model there is none. */
const OWN_PRESET: PresetName = "kiro";

/** The list that all agents have: what was asked for, and what their program needs. */
export function toAllowedHosts(wishes: HostWishes, sources: WishSources): readonly AllowedHost[] {
  return withoutRepeats([...parseWishes(wishes, sources), ...presetFrom(OWN_PRESET, "which Kiro needs")]);
}

/** The list of one agent in place of that of all: what its section asks for, and of the list of all what its program needs. */
export function toSectionHosts(
  wishes: HostWishes,
  sources: WishSources,
  all: readonly AllowedHost[],
): readonly AllowedHost[] {
  // Of the list and not of the preset: what the user pinned there stays pinned.
  const own = presetHosts(OWN_PRESET).flatMap(({ host, port }) =>
    all.filter((entry) => entry.host === host && entry.port === port),
  );
  return withoutRepeats([...parseWishes(wishes, sources), ...own]);
}

/** Whether an entry is of a preset that says so from documents alone. */
export function isUnverified({ from, host, port }: AllowedHost): boolean {
  const name = PRESET_NAMES.find((candidate) => from.startsWith(toOrigin(candidate)));
  return (name === undefined ? [] : PRESETS[name]).some(({ allow, unverified = false }) => {
    const entry = parseAllowedHost(allow, from);
    return unverified && entry.host === host && entry.port === port;
  });
}

/** Hosts that were named go first: where one is in a preset too, it is meant as it was named. */
function parseWishes({ allowHost, allowPreset }: HostWishes, sources: WishSources): readonly AllowedHost[] {
  return [
    ...allowHost.map((text) => parseAllowedHost(text, sources.allowHost)),
    ...allowPreset.flatMap((name) => presetFrom(name, sources.allowPreset)),
  ];
}

function presetFrom(name: PresetName, source: string): readonly AllowedHost[] {
  return presetHosts(name).map((entry) => ({ ...entry, from: toOrigin(name) + source }));
}

function toOrigin(name: PresetName): string {
  return `preset ${name}, `;
}

function withoutRepeats(hosts: readonly AllowedHost[]): readonly AllowedHost[] {
  const byTarget = new Map<string, AllowedHost>();
  for (const entry of hosts) {
    const target = `${entry.host}:${entry.port}`;
    if (!byTarget.has(target)) byTarget.set(target, entry);
  }
  return [...byTarget.values()];
}
