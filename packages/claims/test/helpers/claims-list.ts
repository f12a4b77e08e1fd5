import { CLAIMS, type Claim } from "@budgie/claims";

/** Returns the list of claims in `docs/claims.md`. */
export function toClaimsList(): string {
  return CLAIMS.map(toLine).join("");
}

function toLine({ id, isOfEngine = false, promise, protections }: Claim): string {
  const named = protections.map((protection) => `\`${protection}\``).join(", ");
  return `- \`${id}\`: ${promise} (${named}${isOfEngine ? "; engines only" : ""})\n`;
}
