import type { AllowedHost } from "@budgie/core/egress";
import { parseAllowedHost } from "./parse-allowed-host.ts";
import { PRESET_NAMES, presetHosts, PRESETS, type PresetName } from "./presets.ts";

/** Unparsed allow-list entries. */
export type HostWishes = {
  readonly allowHost: readonly string[];
  readonly allowPreset: readonly PresetName[];
};

/** The sources of the two lists, such as `--allow-host`. */
export type WishSources = Readonly<Record<keyof HostWishes, string>>;

/** The preset of Kiro, which none of Kiro's agents can run without */
const OWN_PRESET: PresetName = "kiro";

/** The source of Kiro's hosts where the configuration does not name them */
const KIROS_NEED = "which Kiro needs";

/** Returns the list of which every agent's is a part: the given hosts, and those that Kiro needs. */
export function listAllowedHosts(wishes: HostWishes, sources: WishSources): readonly AllowedHost[] {
  return withoutRepeats([...parseWishes(wishes, sources), ...presetFrom(OWN_PRESET, KIROS_NEED)]);
}

/** Returns a list for another program than Kiro: without the hosts that are on it only because Kiro needs them. */
export function withoutKirosNeed(hosts: readonly AllowedHost[]): readonly AllowedHost[] {
  return hosts.filter(({ from }) => from !== formatOrigin(OWN_PRESET) + KIROS_NEED);
}

/** Returns an allow-list of the given hosts alone. */
export function listHosts(wishes: HostWishes, sources: WishSources): readonly AllowedHost[] {
  return withoutRepeats(parseWishes(wishes, sources));
}

/** Returns the allow-list of one of Kiro's agents: the hosts of its section, and Kiro's hosts from the list of all agents. */
export function listSectionHosts(
  wishes: HostWishes,
  sources: WishSources,
  all: readonly AllowedHost[],
): readonly AllowedHost[] {
  // Taken from the list of all, since the user may have pinned addresses there.
  const own = presetHosts(OWN_PRESET).flatMap(({ host, port }) =>
    all.filter((entry) => entry.host === host && entry.port === port),
  );
  return withoutRepeats([...parseWishes(wishes, sources), ...own]);
}

/** Returns whether an entry comes from a preset and is known from documentation only. */
export function isUnverified({ from, host, port }: AllowedHost): boolean {
  const name = PRESET_NAMES.find((candidate) => from.startsWith(formatOrigin(candidate)));
  return (name === undefined ? [] : PRESETS[name]).some(({ allow, unverified = false }) => {
    const entry = parseAllowedHost(allow, from);
    return unverified && entry.host === host && entry.port === port;
  });
}

/** Parses the lists. Named hosts come first, so that they take precedence over presets. */
function parseWishes({ allowHost, allowPreset }: HostWishes, sources: WishSources): readonly AllowedHost[] {
  return [
    ...allowHost.map((text) => parseAllowedHost(text, sources.allowHost)),
    ...allowPreset.flatMap((name) => presetFrom(name, sources.allowPreset)),
  ];
}

function presetFrom(name: PresetName, source: string): readonly AllowedHost[] {
  return presetHosts(name).map((entry) => ({ ...entry, from: formatOrigin(name) + source }));
}

function formatOrigin(name: PresetName): string {
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
