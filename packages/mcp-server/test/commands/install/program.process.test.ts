import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { budgiePath, createBudgieUser } from "../../helpers/start-budgie.ts";

// Root needs them.
const ROOTS = ["--allow-root", "~/code"];

describe("the built program", () => {
  it.each(["codex", "vscode"] as const)("installs itself for %s, and uninstalls itself again", async (client) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.run(["install", client, "--", ...ROOTS]);
    const { stdout } = await user.run(["uninstall", client]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^-.*--sandbox/m);
    expect(stdout).toMatch(/\nRemoved "/);
  });

  it.each([
    ["lib", false],
    ["_npx", true],
  ])("warns that npx will not keep its folder: %s", async (folder, expected) => {
    await using user = await createBudgieUser();
    const place = join(user.host.home, folder, "budgie");
    for (const part of ["bin", "dist/bundle", "package.json"]) {
      cpSync(join(budgiePath, "../..", part), join(place, part), { recursive: true });
    }

    const argv = [join(place, "bin/budgie.js"), "install", "kiro", "--", ...ROOTS];
    const { stdout } = spawnSync(process.execPath, argv, {
      env: { HOME: user.host.home },
      encoding: "utf8",
    });

    expect(stdout).toContain("Restart Kiro");
    expect(stdout.includes("npm install -g @budgie/mcp-server")).toBe(expected);
  });
});
