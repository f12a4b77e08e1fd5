import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSessionId, type EgressMode } from "@budgie/core";
import { CLAIM_GROUPS, prove, type ClaimResult } from "@budgie/claims";
import { createDockerPlace, runCommand } from "../../runner-docker/test/helpers/docker-place.ts";
import { isMoot } from "../src/probe/verdicts.ts";
import { OPTIONS } from "./helpers/describe-claims.ts";

const RUNTIME = "runsc";
const SECURITY = join(import.meta.dirname, "../../../docs/security.md");

// Without an allow-list there is no proxy and no MCP server to attack.
const { proxy: _, servers: __, ...GROUPS } = CLAIM_GROUPS;

describe("gVisor", () => {
  it("holds all claims that need no proxy but those that docs/security.md names", { timeout: 900_000 }, async () => {
    const claims = Object.values(GROUPS).flat();
    const results = await prove({ ...OPTIONS, claims, runtime: RUNTIME });

    const isHeld = ({ probes }: ClaimResult) =>
      probes.every(({ verdict }) => verdict.outcome === "held" || isMoot(verdict));
    const notHeld = results.filter((result) => !isHeld(result)).map(({ id }) => id);
    expect(readFileSync(SECURITY, "utf8")).toContain(
      `| gVisor 20240729 | \`seccomp\`, the proxy | ${toList(notHeld)} |`,
    );
  });

  it("takes turns without a network, and refuses an allow-list by name", { timeout: 120_000 }, async () => {
    await using place = createDockerPlace();
    const { runner } = await place.createRunner({ runtime: RUNTIME });
    const session = await runner.openSession(createSessionId());
    const runWith = (mode: EgressMode) =>
      runCommand(
        session,
        { argv: ["dmesg"], env: {}, projections: [] },
        { directory: place.workspace, access: { workspace: "rw", egress: { mode, hosts: [] }, limits: {} } },
      );

    expect((await runWith("none")).stdout).toContain("Starting gVisor");

    await expect(runWith("allowlist")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('With the runtime "runsc", no program in a sandbox reaches the egress proxy'),
    });
  });
});

function toList(ids: readonly string[]): string {
  return ids.map((id) => `\`${id}\``).join(", ");
}
