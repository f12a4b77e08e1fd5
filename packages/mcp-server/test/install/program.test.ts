import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("the program that was built", () => {
  it.each(["codex", "vscode"] as const)("installs itself for %s, and takes that out again", async (client) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.run(["install", client]);
    const { stdout } = await user.run(["uninstall", client]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^-.*--sandbox/m);
    expect(stdout).toMatch(/\nRemoved "/);
  });
});
