import { readSettings, type ConfigSetting } from "./read-settings.ts";

/**
 * Writes the configuration of a copy's git from that of a repository: only settings that run no program and name no path of the host, and
 * addresses without what may log in there.
 */
export function rewriteConfig(config: string): string {
  const lines = readSettings(config).flatMap((setting) => rewriteSetting(setting) ?? []);
  return [...lines, ...ADDED].join("");
}

// The inode and the parts of seconds of a copied file differ from those in the index.
const ADDED = ["[core]\n\tcheckStat = minimal\n", "[core]\n\ttrustctime = false\n", "[core]\n\tbare = false\n"];

const PLAIN: ReadonlySet<string> = new Set([
  "core.repositoryformatversion",
  "core.filemode",
  "core.ignorecase",
  "core.precomposeunicode",
  "core.symlinks",
  "core.autocrlf",
  "core.eol",
  "core.safecrlf",
  "core.sparsecheckout",
  "core.sparsecheckoutcone",
  "core.logallrefupdates",
  "core.quotepath",
  "extensions.objectformat",
  "extensions.compatobjectformat",
  "user.name",
  "user.email",
  "init.defaultbranch",
]);
const OF_NAMED: ReadonlySet<string> = new Set([
  "remote.url",
  "remote.fetch",
  "branch.remote",
  "branch.merge",
  "branch.rebase",
]);
const LONGEST = 4096;

function rewriteSetting({ name, section, subsection, value }: ConfigSetting): string | undefined {
  const key = `${section}.${name}`;
  const isKnown = (subsection === undefined ? PLAIN : OF_NAMED).has(key);
  const shown = isAddress(key, value) ? withoutLogin(value) : value;
  // No name of a remote or branch has a colon, but git takes an address in its place.
  if (!isKnown || shown === undefined || subsection?.includes(":") === true) return undefined;
  if (![shown, subsection ?? ""].every(isPlain)) return undefined;
  const header = subsection === undefined ? `[${section}]` : `[${section} ${quote(subsection)}]`;
  return `${header}\n\t${name} = ${quote(shown)}\n`;
}

/** Returns true for an address, which `git push -u` also writes in place of a branch's remote. */
function isAddress(key: string, value: string): boolean {
  return key === "remote.url" || (key === "branch.remote" && /:|^(?:\/|\.\.?\/|~)/.test(value));
}

function isPlain(text: string): boolean {
  return text.length <= LONGEST && !/\p{Cc}/u.test(text);
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Removes user, password, query and fragment of an address; `undefined` for a path of the host. */
function withoutLogin(address: string): string | undefined {
  if (!address.includes("://")) return SCP.test(address) ? address : undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !NETWORK.has(url.protocol)) return undefined;
  // Over SSH the name is part of the address, and no secret.
  const user = url.protocol === "ssh:" && url.username !== "" ? `${url.username}@` : "";
  return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

const NETWORK: ReadonlySet<string> = new Set(["http:", "https:", "ssh:", "git:"]);
// As in git@example.com:team/project.git, where the name is part of the address. Two colons name a program, as in ext::program.
const SCP = /^(?:[\w.-]+@)?[\w.-]+:(?!\/\/|:)[^\s]+$/;
