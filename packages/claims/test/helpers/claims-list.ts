import { CLAIMS, type Claim } from "@budgie/claims";

/** Returns the list of claims in `docs/claims.md`. */
export function toClaimsList(): string {
  return CLAIMS.map(toLine).join("");
}

/** Returns the name of a claim's tests in vitest's list. */
export function toTestId(group: string, id: string): string {
  return `${group}.docker.test.ts > ${id}`;
}

function toLine({ id, promise, protections }: Claim): string {
  return `- \`${id}\`: ${promise} (${protections.map((protection) => `\`${protection}\``).join(", ")})\n`;
}
