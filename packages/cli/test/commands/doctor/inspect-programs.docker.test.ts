import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENT_PRESETS } from "../../../src/agents/agent-presets.ts";
import { openEngine, removePrograms } from "../../helpers/engine.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables } from "../../helpers/start-budgie.ts";

const NOT_OF_AN_ENTRY = { allowPreset: undefined, env: undefined, login: undefined, npm: undefined, tried: undefined };

const BASE_IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

describe("budgie doctor --image", () => {
  it("starts Kiro in a project's image, with the programs beside it, and says what it lacks without them", async () => {
    await using user = await createBudgieUser();
    const tag = `budgie-doctor-programs:${process.pid}`;
    const kiro = "case $1 in --version) echo kiro-cli 2.13.0;; *) echo Usage: kiro-cli;; esac";
    mkdirSync(join(user.workspace, "docker"));
    writeFileSync(
      join(user.workspace, "Dockerfile"),
      `FROM ${BASE_IMAGE}\nRUN mkdir -p /opt/agents/bin && cd /opt/agents/bin && printf '#!/bin/sh\\n%s\\n' '${kiro}' >kiro-cli && chmod 755 kiro-cli\n` +
        'ENV PATH=/opt/agents/bin:/usr/bin:/bin\nLABEL dev.budgie.programs="/opt/agents"\n',
    );
    await user.command(["build-image", "--tag", tag, "--context", user.workspace], toEngineVariables());
    const doctor = (image: string) =>
      user.command(["doctor", "--sandbox", "--sandbox-image", image, "--image", BASE_IMAGE], toEngineVariables());
    try {
      const [beside, without] = [await doctor(tag), await doctor(TEST_IMAGE)];

      expect(beside.stdout).toContain(
        `ok      image      ${BASE_IMAGE}: "/opt/agents/bin/kiro-cli" runs there, and is 2.13.0\n`,
      );
      expect(without.stdout).toMatch(/^failed {2}image {6}\S+: The image has no "kiro-cli" on its PATH/m);
    } finally {
      await removePrograms(tag);
      await (await openEngine()).getImage(tag).remove({ force: true });
    }
  });
});

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

    const { exitCode, stdout } = await user.command(args, {
      BUDGIE_ALLOW_ROOT: user.workspace,
      ...toEngineVariables(),
    });

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
