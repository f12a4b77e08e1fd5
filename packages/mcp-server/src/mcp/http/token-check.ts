import { createHash, timingSafeEqual } from "node:crypto";

/** Makes what tells whether an Authorization header has this token, in a time that does not depend on how it differs. */
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
