import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

/** Installs the stand-in with a profile for a user, and returns the PATH with it. */
function installKiro({ host }: BudgieUser, profile: string): string {
  const bin = join(host.home, "bin");
  mkdirSync(bin);
  const script = `#!/bin/sh\nFAKE_KIRO_PROFILE=${profile} exec "${kiroCliPath}" "$@"\n`;
  writeFileSync(join(bin, "kiro-cli"), script, { mode: 0o755 });
  return `${bin}:${process.env["PATH"]}`;
}

describe("budgie doctor with a kiro-cli on the PATH", () => {
  it.each([
    ["v2", "2.12.0 here (V2)"],
    ["v3", "3.2.0 here (V2, V3)"],
  ])("says which version and harnesses %s has, and how to log in", async (profile, text) => {
    await using user = await createBudgieUser({ login: false });
    const PATH = installKiro(user, profile);

    const { stdout } = await user.command(["doctor"], { ...NO_ENGINE, PATH });

    expect(stdout).toContain(`ok      kiro       ${text}\n`);
    expect(stdout).toContain("\n  kiro-cli login\n");
  });

  it("takes a path for one of the image's with a sandbox alone", async () => {
    await using user = await createBudgieUser();
    const args = ["doctor", "--kiro-binary", kiroCliPath, "--allow-root", user.workspace];

    const local = await user.command(args, NO_ENGINE);
    const sandboxed = await user.command([...args, "--sandbox"], { ...NO_ENGINE, PATH: "/nowhere" });

    expect(local.stdout).toMatch(/^ok {6}kiro {7}2\.12\.0 here \(V2\)$/m);
    expect(sandboxed.stdout).not.toMatch(/^\w+ +kiro /m);
  });

  it("says nothing of one that prints no help", async () => {
    await using user = await createBudgieUser();
    const broken = join(user.host.home, "broken");
    writeFileSync(broken, "#!/bin/sh\nexit 1\n", { mode: 0o755 });

    const { stdout } = await user.command(["doctor", "--kiro-binary", broken], NO_ENGINE);

    expect(stdout).not.toMatch(/^\w+ +kiro /m);
  });
});
