import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { budgiePath, createBudgieUser } from "../../helpers/start-budgie.ts";

// As root, --sandbox needs allowed roots.
const ROOTS = ["--allow-root", "~/code"];

const NPX = /"command": "npx",\n\+\s+"args": \[\n\+\s+"-y",\n\+\s+"budgie-mcp@\d+\.\d+\.\d+",\n\+\s+"--sandbox"/;

describe("the built program", () => {
  it.each(["codex", "vscode"] as const)("installs itself for %s, and uninstalls itself again", async (client) => {
    await using user = await createBudgieUser();
    mkdirSync(join(user.host.home, "code"));

    const { exitCode, stderr } = await user.run(["install", client, "--", ...ROOTS]);
    const { stdout } = await user.run(["uninstall", client]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^-.*--sandbox/m);
    expect(stdout).toMatch(/\nRemoved "/);
  });

  it.each([
    ["lib", "user", /"command": ".*node"/],
    ["lib", "project", /"command": "budgie"/],
    ["_npx", "user", NPX],
    ["_npx", "project", NPX],
  ])("has a client start it in a way that lasts, from %s for a %s", async (folder, scope, expected) => {
    await using user = await createBudgieUser();
    mkdirSync(join(user.host.home, "code"));
    const place = join(user.host.home, folder, "budgie");
    for (const part of ["bin", "dist/bundle", "package.json"]) {
      cpSync(join(budgiePath, "../..", part), join(place, part), { recursive: true });
    }

    const argv = [join(place, "bin/budgie.js"), "install", "kiro", "--scope", scope, "--", ...ROOTS];
    const { stdout } = spawnSync(process.execPath, argv, {
      cwd: user.host.home,
      env: { HOME: user.host.home },
      encoding: "utf8",
    });

    expect(stdout).toContain("Restart Kiro");
    expect(stdout).toMatch(expected);
  });
});
