const MAX_NAME_LENGTH = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
// What a resolver takes for a number when it is the last of a name's parts: 127.1, 0x7f.1, 017700000001, 2130706433.
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

/** A DNS name in lower case without its trailing dot, or undefined for what is none: an address in any spelling, too. */
export function toHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_NAME_LENGTH || isAddressSpelling(name)) return undefined;
  return name.split(".").every((label) => LABEL.test(label)) ? name : undefined;
}

/** Whether something along the way could read `text` as an address: dotted, short, decimal, hex, octal or IPv6. */
export function isAddressSpelling(text: string): boolean {
  const name = text.toLowerCase().replace(/\.$/, "");
  return /[:[\]%]/.test(name) || NUMBER.test(name.slice(name.lastIndexOf(".") + 1));
}
