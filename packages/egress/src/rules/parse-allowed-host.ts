import { isIP } from "node:net";
import { BudgieError } from "@budgie/core/errors";
import type { AllowedHost } from "@budgie/core/egress";
import { isAddressSpelling, normalizeHostName } from "./normalize-host-name.ts";

const HTTPS_PORT = 443;
const MAX_PORT = 65_535;

/** Parses an allow-list entry, `NAME[:PORT][=ADDRESS]`; the default port is 443. `from` names its source in errors. */
export function parseAllowedHost(text: string, from: string): AllowedHost {
  const refuse = (what: string): BudgieError =>
    new BudgieError(
      "CONFIG_INVALID",
      `Cannot allow the host ${JSON.stringify(text)} (${from}): ${what}. ` +
        'Write NAME[:PORT][=ADDRESS], such as "example.com", "*.example.com:8443" or "db.example.com=10.0.0.5".',
    );
  const { name, port, address } = splitParts(text);
  if (address !== undefined && isIP(address) === 0)
    throw refuse(`${JSON.stringify(address)} is not an IP address to pin it to`);
  return { host: parsePattern(name, refuse), port: parsePort(port, refuse), address, from };
}

type HostFields = { readonly name: string; readonly port: string | undefined; readonly address: string | undefined };

type Refuse = (what: string) => BudgieError;

function splitParts(text: string): HostFields {
  const [target, address] = splitOnce(text, "=");
  // More than one colon means an IPv6 address: it stays whole, and is rejected as a name.
  if (target.split(":").length !== 2) return { name: target, port: undefined, address };
  const [name, port] = splitOnce(target, ":");
  return { name, port, address };
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function parsePattern(pattern: string, refuse: Refuse): string {
  const wildcard = pattern.startsWith("*.");
  const text = wildcard ? pattern.slice(2) : pattern;
  if (isAddressSpelling(text)) throw refuse("an address is not a name; name it, and pin the name to the address");
  if (text.includes("*")) throw refuse('a wildcard is the whole first part of a name, as in "*.example.com"');
  const name = normalizeHostName(text);
  if (name === undefined) throw refuse("it is not a host name");
  if (wildcard && !name.includes(".")) throw refuse("a wildcard above a whole top-level domain allows too much");
  return wildcard ? `*.${name}` : name;
}

function parsePort(text: string | undefined, refuse: Refuse): number {
  if (text === undefined) return HTTPS_PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > MAX_PORT) throw refuse(`${JSON.stringify(text)} is not a port from 1 to ${MAX_PORT}`);
  return port;
}
