import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENT_PRESETS } from "../../../src/agents/agent-presets.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables } from "../../helpers/start-budgie.ts";

const NOT_OF_AN_ENTRY = { allowPreset: undefined, env: undefined, login: undefined, npm: undefined, tried: undefined };

const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

describe("budgie doctor --sandbox with configured agents", () => {
  it("looks for each program in its image, and names the command that builds one", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    const qwen = { protocol: "acp", description: "Codes.", command: "qwen" };
    const agents = {
      there: { ...qwen, args: ["--help"], image: PROGRAMS_IMAGE },
      missing: qwen,
      strange: { ...qwen, command: "no-preset" },
      boxed: { ...qwen, command: "codex-acp", image: PROGRAMS_IMAGE },
      written: { ...qwen, ...AGENT_PRESETS.codex, ...NOT_OF_AN_ENTRY, image: PROGRAMS_IMAGE },
      imageless: { ...qwen, image: "budgie-no-such-image:latest" },
    };
    writeFileSync(file, JSON.stringify({ agents }));
    const args = ["doctor", "--sandbox", "--sandbox-image", TEST_IMAGE, "--config", file];

    const { exitCode, stdout } = await user.run(args, { BUDGIE_ALLOW_ROOT: user.workspace, ...toEngineVariables() });

    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      `ok      agent      there: "/opt/programs/node_modules/.bin/qwen" in the image "${PROGRAMS_IMAGE}"\n`,
    );
    expect(stdout).toMatch(
      /^failed {2}agent {6}there: The program "qwen" of the agent "there" ended before it answered/m,
    );
    expect(stdout).toMatch(/^failed {2}agent {6}missing: The image has no "qwen" on its PATH, /m);
    expect(stdout).toMatch(/^failed {2}agent {6}strange: The image has no "no-preset" on its PATH, /m);
    expect(stdout).toMatch(/^failed {2}agent {6}imageless: .*budgie-no-such-image:latest/m);
    expect(stdout).toMatch(
      /^note {4}agent {6}boxed: its own sandbox does not work inside budgie's, .*"danger-full-access"/m,
    );
    expect(stdout).not.toMatch(/^note .* written: /m);
    // It does not replace the user's own image.
    const todo = `budgie build-image --with qwen    # then name budgie-sandbox:latest in place of ${TEST_IMAGE}`;
    expect(stdout.endsWith(`\nTo do:\n  ${todo}\n`)).toBe(true);
  });
});
