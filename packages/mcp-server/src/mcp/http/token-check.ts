import { createHash, timingSafeEqual } from "node:crypto";

/** Creates a function that checks an Authorization header for this token in constant time. */
export function createTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = toDigest(token);
  return (authorization) => {
    const [, given] = BEARER.exec(authorization ?? "") ?? [];
    return timingSafeEqual(toDigest(given ?? ""), expected) && given !== undefined;
  };
}

const BEARER = /^bearer +(\S+) *$/i;

function toDigest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
