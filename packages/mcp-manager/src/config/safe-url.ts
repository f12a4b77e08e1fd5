const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Tells whether a URL is encrypted, or of this machine. It may not hold a user's name or password. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { hostname, password, protocol, username } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

/** Tells whether a server may lead to a URL: to a safe one, and to this machine only from there. */
export function isReachable(text: string, server: string): boolean {
  return isSafeUrl(text) && (!isHere(text) || isHere(server));
}

/** Tells whether a URL is of this machine's loopback. */
export function isHere(text: string): boolean {
  return LOOPBACK.test(new URL(text).hostname);
}
