const MAX_NAME_LENGTH = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
// A last label that resolvers read as part of an IPv4 address: 127.1, 0x7f.1, 017700000001, 2130706433.
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

/** Normalizes a DNS name: lower case, no trailing dot. `undefined` if it is none, or an address in any spelling. */
export function normalizeHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_NAME_LENGTH || isAddressSpelling(name)) return undefined;
  return name.split(".").every((label) => LABEL.test(label)) ? name : undefined;
}

/** Returns true if any resolver could read `text` as an address: dotted, short, decimal, hexadecimal, octal or IPv6. */
export function isAddressSpelling(text: string): boolean {
  const name = text.toLowerCase().replace(/\.$/, "");
  return /[:[\]%]/.test(name) || NUMBER.test(name.slice(name.lastIndexOf(".") + 1));
}
