import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toConfigJsonSchema } from "../../../src/config/build-config-file-schema.ts";
import { configSchema } from "../../../src/options/config-schema.ts";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

type Setting = { readonly key: string; readonly value?: unknown; readonly from: string };

function writeConfig(user: BudgieUser, content: unknown): string {
  const file = join(user.host.home, "budgie.json");
  writeFileSync(file, JSON.stringify(content));
  return file;
}

describe("budgie config show", () => {
  it("says of each setting where it comes from: the option before the variable before the file before the default", async () => {
    await using user = await createBudgieUser();
    const content = {
      $schema: "x",
      model: "file",
      toolPrefix: "file.",
      heartbeat: "5s",
      maxQueued: 3,
      agents: { reader: { workspace: "ro" } },
    };
    const file = writeConfig(user, { ...content, sandbox: true, keepSessions: true });
    const env = { BUDGIE_MODEL: "variable", BUDGIE_TOOL_PREFIX: "variable.", KIRO_API_KEY: "canary" };

    const { exitCode, stderr, stdout } = await user.command(
      ["config", "show", "--json", "--config", file, "--model", "option"],
      env,
    );

    const { hidden, settings } = JSON.parse(stdout) as { hidden: unknown; settings: readonly Setting[] };
    const find = (key: string): Setting | undefined => settings.find((setting) => setting.key === key);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(settings.map(({ key }) => key)).toEqual([...Object.keys(configSchema.shape), "agents.reader"]);
    expect(find("model")).toEqual({ key: "model", value: "option", from: "--model" });
    expect(find("toolPrefix")).toEqual({ key: "toolPrefix", value: "variable.", from: "BUDGIE_TOOL_PREFIX" });
    expect(find("heartbeat")).toEqual({ key: "heartbeat", value: "5s", from: file });
    expect(find("maxQueued")).toEqual({ key: "maxQueued", value: 3, from: file });
    expect(find("retry")).toEqual({ key: "retry", value: "safe", from: "default" });
    expect(find("agents.reader")).toMatchObject({ value: { workspace: "ro" }, from: file });
    expect(hidden).toEqual(["KIRO_API_KEY"]);
    expect(stdout).not.toContain("canary");
  });

  it("prints a table, and hides secrets in it", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["config", "show"], { BUDGIE_HTTP_TOKEN: "canary" });

    expect(stdout).toMatch(/^SETTING +VALUE +FROM\n/);
    expect(stdout).toMatch(/^agentTimeout +"10m" +default$/m);
    expect(stdout).toMatch(/^BUDGIE_HTTP_TOKEN +\(hidden\) +BUDGIE_HTTP_TOKEN$/m);
    expect(stdout).not.toContain("canary");
  });

  it("hides the headers of a backend, unless they only name a variable", async () => {
    await using user = await createBudgieUser();
    const headers = {
      authorization: "Bearer $TOKEN",
      "x-key": "canary",
      "x-user": "${USER}",
      "x-mixed": "canary $TOKEN x",
    };
    const file = writeConfig(user, {
      kagent: { url: "http://127.0.0.1:1", headers: { ...headers, "x-joined": "canary$TOKEN" } },
    });

    const text = await user.command(["config", "show", "--config", file]);
    const json = await user.command(["config", "show", "--json", "--config", file]);

    const { settings } = JSON.parse(json.stdout) as { settings: readonly Setting[] };
    expect(settings.find(({ key }) => key === "kagent")?.value).toEqual({
      url: "http://127.0.0.1:1",
      headers: {
        authorization: "Bearer $TOKEN",
        "x-key": "(hidden)",
        "x-user": "${USER}",
        "x-mixed": "(hidden)",
        "x-joined": "(hidden)",
      },
      allowRemote: false,
    });
    expect(text.stdout).toContain("Bearer $TOKEN");
    expect(text.stdout + json.stdout).not.toContain("canary");
  });

  it("refuses what a server would refuse", async () => {
    await using user = await createBudgieUser();
    const file = writeConfig(user, { heartbeat: "soon" });

    const { exitCode, stderr } = await user.command(["config", "show", "--config", file]);

    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      `budgie: Expected "heartbeat" in "${file}" to be a duration such as "90s", "10m" or "1h30m", got "soon".\n`,
    );
  });
});

describe("a configuration file", () => {
  it("sets what the tools are, with paths from its own folder", async () => {
    await using user = await createBudgieUser();
    mkdirSync(join(user.host.home, "mine"));
    const agent = { name: "from-file", description: "sub-agent: From a file" };
    writeFileSync(join(user.host.home, "mine", "agent.json"), JSON.stringify(agent));
    const file = writeConfig(user, { agentsDir: "mine", toolNames: "safe" });

    const { stdout } = await user.command(["list-tools", "--config", file]);

    expect(stdout).toContain("kiro_subagents_from_file\n");
  });
});

describe("budgie config schema", () => {
  it("prints the file of the package, which has a key for every option but --config", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["config", "schema"]);

    const keys = Object.keys(configSchema.shape).filter((key) => key !== "config");
    const { properties } = toConfigJsonSchema() as { properties: Record<string, { description?: string }> };
    expect(Object.keys(properties).toSorted()).toEqual(
      ["$schema", "agents", "budget", "kagent", "limits", "mcpRegistry", "notify", "workspaces", ...keys].toSorted(),
    );
    expect(Object.values(properties).filter(({ description }) => !description)).toEqual([]);
    // "budgie config schema > packages/cli/config.schema.json" writes it, and "npm run fix" formats it.
    const shipped: unknown = JSON.parse(readFileSync(new URL("../../../config.schema.json", import.meta.url), "utf8"));
    expect(JSON.parse(stdout)).toEqual(shipped);
  });
});
