import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toServer } from "./client-settings.ts";
import { createInstallUser } from "./create-install-user.ts";

describe("the arguments of install and uninstall", () => {
  it.each([
    ["claude-code", "claude"],
    ["Gemini CLI", "gemini"],
    ["vs-code", "vscode"],
    ["copilot-cli", "copilot"],
  ] as const)("takes %s for %s", async (name, client) => {
    using user = createInstallUser();

    await user.run(["install", name]);

    expect(toServer(user, client)).toBeDefined();
  });

  it.each([
    [["install", "kiro", "--", "--transport", "http"], "speaks to it over stdio, not --transport http."],
    [["install", "kiro", "--", "--no-such"], `The server takes no "--no-such".`],
    [
      ["install", "kiro", "--", "--agent-timeout", "soon"],
      "Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be a duration",
    ],
    [["install", "kiro", "--", "serve"], `The server takes no "serve".`],
    [["install", "kiro", "--agent-timeout", "15m"], `Options of the server, such as --agent-timeout, go behind "--".`],
    [["install", "kiro", "--", "--allow-root", "/nope"], `There is no directory "/nope" for --allow-root (ENOENT).`],
    [["install", "kiro", "--", "--no-sandbox", "--runtime", "runsc"], `--runtime "runsc" needs --sandbox`],
    [["install", "kiro", "--", "--port", "3333"], "--port is for --transport http"],
    [
      ["install", "kiro", "--", "--max-turns-per-minute", "raeder=5"],
      `There is no agent "raeder" for --max-turns-per-`,
    ],
    [["install", "emacs"], `There is no client "emacs". Clients: kiro, claude, cursor, `],
    [["install", "claude-desktop"], `There is no client "claude-desktop". Did you mean "claude"? Clients: `],
    [["uninstall", "gem"], `There is no client "gem". Did you mean "gemini"? Clients: `],
    [["install"], "Missing required argument 'client'"],
    [["install", "kiro", "--scope", "world"], "Allowed choices are user, project."],
    [["install", "kiro", "--name", "__proto__"], "Expected --name to be a letter and up to 39 more"],
    [["uninstall", "kiro", "--name", "a.b"], "Expected --name to be a letter and up to 39 more"],
  ])("refuses %j, and writes nothing", async (argv, message) => {
    using user = createInstallUser();

    await expect(user.run(argv)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(user.files()).toEqual({});
  });

  it.each([
    ["a section of an unknown agent", ["--no-sandbox", "--config", "budgie.json"]],
    ["a rate of an unknown agent", ["--no-sandbox", "--max-turns-per-minute", "raeder=5"]],
    ["an option of HTTP", ["--no-sandbox", "--http-session-ttl", "1m"]],
    ["an option that needs a sandbox", ["--no-sandbox", "--protect-executable-paths"]],
    ["a missing root", ["--sandbox", "--allow-root", "/nope"]],
  ])("refuses %s with the server's words, and writes nothing", async (_what, options) => {
    using user = createInstallUser();
    user.write(join(user.project, "budgie.json"), JSON.stringify({ agents: { raeder: {} } }));
    const refusal = await user.run(options).catch((error: unknown) => error);

    expect(refusal).toMatchObject({ code: "CONFIG_INVALID" });
    await expect(user.run(["install", "kiro", "--", ...options])).rejects.toEqual(refusal);
    expect(Object.keys(user.files())).toEqual(["project/budgie.json"]);
  });

  it("leaves a missing API key to the client's entry, which may set it", async () => {
    using user = createInstallUser();

    const { exitCode } = await user.run(["install", "kiro", "--", "--credentials", "api-key"]);

    expect(exitCode).toBe(0);
  });

  it("refuses root a sandbox without allowed roots, which would not start", async () => {
    using user = createInstallUser({ uid: 0 });

    await expect(user.run(["install", "kiro"])).rejects.toThrow("Started by root, --sandbox needs --allow-root");
    expect(user.files()).toEqual({});
    expect(await user.run(["install", "kiro", "--", "--allow-root", user.project])).toMatchObject({ exitCode: 0 });
    expect(await user.run(["install", "claude", "--", "--no-sandbox"])).toMatchObject({ exitCode: 0 });
  });
});
