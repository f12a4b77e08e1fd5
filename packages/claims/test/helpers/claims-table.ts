import { CLAIM_GROUPS, type Claim } from "@budgie/claims";

const HEADER = ["Claim", "Promise", "Protections", "Probes"];

/** Returns the claims matrix of `docs/claims.md`. */
export function toClaimsTable(): string {
  const rows = Object.values(CLAIM_GROUPS).flatMap((claims) => claims.map(toRow));
  const lines = [HEADER, HEADER.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Returns the name of a claim's tests in vitest's list. */
export function toTestId(group: string, id: string): string {
  return `${group}.docker.test.ts > ${id}`;
}

function toRow({ id, probes, promise, protections }: Claim): readonly string[] {
  const names = protections.map((protection) => `\`${protection}\``).join(", ");
  return [`\`${id}\``, promise, names, String(probes.length)];
}
