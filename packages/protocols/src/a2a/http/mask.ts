/** Removes secrets from a server's words. */
export type Mask = (text: string) => string;

const SCHEME = /^[\w-]+\s+(?=\S)/;

/**
 * Returns a function that replaces the values of headers by "…", also without their scheme, such as `Bearer`, and as JSON escapes
 * them. Values of fewer than `shortest` characters stay.
 */
export function createMask(headers: Readonly<Record<string, string>>, shortest = 6): Mask {
  const values = Object.values(headers).map((value) => value.trim());
  const secrets = values.flatMap((value) => [value, value.replace(SCHEME, "")]).filter((one) => one.length >= shortest);
  const all = new Set(secrets.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)]));
  // The longest first, since one may be part of another.
  const sorted = [...all].toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((masked, secret) => masked.replaceAll(secret, "…"), text);
}
