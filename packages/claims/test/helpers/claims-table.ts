import { CLAIM_GROUPS, type Claim } from "@budgie/claims";

const HEADER = ["Claim", "Promise", "Protections", "Probes", "Test"];

/** The claims matrix as `docs/security.md` has it. */
export function toClaimsTable(): string {
  const rows = Object.entries(CLAIM_GROUPS).flatMap(([group, claims]) => claims.map((claim) => toRow(group, claim)));
  const lines = [HEADER, HEADER.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** What names a claim's test, in the table and among the tests that there are. */
export function toTestId(group: string, id: string): string {
  return `${group}.docker.test.ts > ${id}`;
}

function toRow(group: string, { id, probes, promise, protections }: Claim): readonly string[] {
  const names = protections.map((protection) => `\`${protection}\``).join(", ");
  return [`\`${id}\``, promise, names, String(probes.length), `\`${toTestId(group, id)}\``];
}
