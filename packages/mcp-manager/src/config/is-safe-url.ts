const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Tells whether a URL is https, or http on this machine's loopback, without a user name or password. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { hostname, password, protocol, username } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

/** Tells whether a server may point budgie to a URL: a safe one, and one on this machine only if the server is there. */
export function isReachable(text: string, server: string): boolean {
  return isSafeUrl(text) && (!isHere(text) || isHere(server));
}

/** Tells whether a URL's host is this machine's loopback. */
export function isHere(text: string): boolean {
  return LOOPBACK.test(new URL(text).hostname);
}
