import { describe, expect, it } from "vitest";
import { checkSandboxOptions } from "../../src/config/check-sandbox-options.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

describe("budgie does not start", () => {
  it.each([
    [["--credentials", "api-key"], /^budgie: --credentials api-key needs --sandbox: .*your own login/],
    [["--credentials", "none"], /^budgie: --credentials none needs --sandbox: /],
    [["--runtime", "runsc"], /^budgie: --runtime "runsc" needs --sandbox: /],
    [["--accept-weaker", "limits"], /^budgie: --accept-weaker limits needs --sandbox: /],
    [["--ca-file", "/etc/passwd"], /^budgie: --ca-file "\/etc\/passwd" needs --sandbox: /],
    [["--egress", "open"], /^budgie: Without --sandbox nothing can enforce --egress\./],
    [["--protect-executable-paths"], /^budgie: --protect-executable-paths needs --sandbox: /],
    [["--sandbox", "--credentials", "api-key"], /^budgie: KIRO_API_KEY is not set, /, 1],
  ])("with %j, and says why in one line", async (argv, message, code = 2) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(argv, NO_ENGINE);

    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  it("with an empty API key", async () => {
    await using user = await createBudgieUser();
    const env = { ...NO_ENGINE, KIRO_API_KEY: "", BUDGIE_CREDENTIALS: "api-key" };

    const { exitCode, stderr } = await user.command(["--sandbox"], env);

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(/KIRO_API_KEY is not set/) });
  });
});

describe("a sandbox that root starts", () => {
  const config = (values: Readonly<Record<string, unknown>>) =>
    parseConfig({ sandbox: true, ...values }, toSilentHost({ home: "/root", cwd: "/root" }));

  it("needs allowed roots, because root owns every directory", () => {
    expect(() => checkSandboxOptions(config({}), { uid: 0 })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(
          /^Started by root, --sandbox needs --allow-root, .* or start budgie as an ordinary/,
        ),
      }),
    );
  });

  it("starts with one, as an ordinary user's does without", () => {
    checkSandboxOptions(config({ allowRoot: ["~/code"] }), { uid: 0 });
    checkSandboxOptions(config({}), { uid: 1000 });
    checkSandboxOptions(config({}), { uid: undefined });
    checkSandboxOptions(config({ sandbox: false }), { uid: 0 });
  });
});

it("commands that start no agent accept the options anyway", async () => {
  await using user = await createBudgieUser();

  const { exitCode } = await user.command(["--list-tools"], { BUDGIE_CREDENTIALS: "none", BUDGIE_RUNTIME: "runsc" });

  expect(exitCode).toBe(0);
});
