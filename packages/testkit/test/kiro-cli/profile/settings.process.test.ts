import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { KiroProfile } from "@budgie/testkit";
import { createKiroUser, type KiroUser, type RunOptions } from "../run-kiro-cli.ts";

/** The agent that answers. */
async function answering(user: KiroUser, options: RunOptions): Promise<string | undefined> {
  const { stdout } = await user.chat("[[status]]", options);
  return /"agent":"([^"]+)"/.exec(stdout)?.[1];
}

async function addAgent(folder: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

const PROFILES: readonly KiroProfile[] = ["q1", "v2", "v2late", "v3"];
const V3: RunOptions = { profile: "v3", argv: ["--v3"] };

describe("each profile", () => {
  it.each([
    [undefined, "2.12.0"],
    ["q1", "1.22.0"],
    ["v2", "2.12.0"],
    ["v2late", "2.37.0"],
    ["v3", "3.2.0"],
  ] as const)("%s prints its version", async (profile, version) => {
    await using user = await createKiroUser();

    const { stdout } = await user.run(["--version"], profile === undefined ? {} : { profile });

    expect(stdout).toBe(`kiro-cli ${version}\n`);
  });

  it.each([
    ["q1", false],
    ["v2", false],
    ["v2late", true],
    ["v3", true],
  ] as const)("%s lists and takes the flags of both harnesses: %s", async (profile, has) => {
    await using user = await createKiroUser();
    const { stdout } = await user.run(["chat", "--help"], { profile });
    const codes: unknown[] = [];
    for (const flag of ["--v2", "--v3", "--agent-engine=v2", "--agent-engine=v3"]) {
      codes.push((await user.chat("hi", { profile, argv: [flag] })).exitCode);
    }

    expect(stdout.includes("--agent-engine <ENGINE>") && /^ +--v2 .*\n +--v3 /m.test(stdout)).toBe(has);
    expect(codes).toEqual(Array.from({ length: 4 }, () => (has ? 0 : 2)));
  });

  it.each([
    ["an unknown flag", ["chat", "--no-interactive", "--bogus", "x"]],
    ["two prompts", ["chat", "--no-interactive", "a", "b"]],
    ["an unknown command", ["frobnicate"]],
    ["two harnesses", ["chat", "--v2", "--v3", "x"]],
    ["an unknown harness", ["chat", "--agent-engine", "v1", "x"]],
    ["a chat without --no-interactive", ["chat", "x"]],
    ["acp with a prompt", ["acp", "x"]],
  ])("refuses %s", async (_what, argv) => {
    await using user = await createKiroUser();
    const codes: unknown[] = [];
    for (const profile of PROFILES) codes.push((await user.run(argv, { profile })).exitCode);

    expect(codes).toEqual([2, 2, 2, 2]);
  });

  it.each([
    ["q1", [], "kiro_default", /^Error: no agent with name nobody found. Falling back/m],
    ["v2", [], "kiro_default", /^warning: agent "nobody" not found, using "kiro_default"/m],
    ["v2late", ["--v2"], undefined, /^error: agent "nobody" not found/m],
    ["v3", [], undefined, /^error: agent "nobody" not found/m],
    ["v3", ["--v3"], "vibe", /^((?!not found).)*$/s],
  ] as const)("%s %j answers for an unknown agent as %s", async (...[profile, argv, agent, stderr]) => {
    await using user = await createKiroUser();
    const options = { profile, argv: [...argv, "--agent", "nobody"] };

    expect(await answering(user, options)).toBe(agent);
    expect((await user.chat("hi", options)).stderr).toMatch(stderr);
  });

  it.each([
    ["v2", [], "1", 4],
    ["v2late", [], "0", 0],
    ["v3", ["--v3"], "1", 4],
  ] as const)("%s %j can be told what to do for an unknown agent", async (...[profile, argv, strict, expected]) => {
    await using user = await createKiroUser();
    const env = { FAKE_KIRO_STRICT_AGENT: strict };

    const { exitCode } = await user.chat("hi", { profile, argv: [...argv, "--agent", "nobody"], env });

    expect(exitCode).toBe(expected);
  });

  it.each([
    ["q1", [], "team", "kiro_default"],
    ["v2", [], "team", "kiro_default"],
    ["v2late", [], "team", undefined],
    ["v2late", [], "rules", "rules"],
    ["v2", [], "rules", "kiro_default"],
    ["v3", ["--v3"], "team/planner", "team/planner"],
    ["v3", ["--v3"], "rules", "rules"],
    ["v3", ["--v3"], "notes", "vibe"],
    ["v3", ["--v2"], "team/planner", undefined],
  ] as const)("%s %j finds for %s the agent %s", async (...[profile, argv, name, expected]) => {
    await using user = await createKiroUser();
    const { agentsDir } = user.host;
    await addAgent(
      agentsDir,
      "team/planner.md",
      "---\nname: other\ndescription: Plans\ntools: read, shell\n---\nPlan.\n",
    );
    await addAgent(agentsDir, "rules.json", '{ "name": "rules", "permissions": { "rules": [] } }');
    await addAgent(agentsDir, "notes.md", "A prompt without front matter.\n");

    expect(await answering(user, { profile, argv: [...argv, "--agent", name] })).toBe(expected);
  });

  it.each([
    ["v2", false],
    ["v2late", true],
    ["v3", true],
  ] as const)("%s reads KIRO_AGENT_CONFIG_DIR in place of both folders: %s", async (profile, reads) => {
    await using user = await createKiroUser();
    const other = join(user.host.home, "other");
    await addAgent(other, "apart.json", "{}");
    await addAgent(join(user.work, ".kiro", "agents"), "near.json", "{}");
    const env = { KIRO_AGENT_CONFIG_DIR: other, FAKE_KIRO_STRICT_AGENT: "0" };
    const found: unknown[] = [];
    for (const name of ["apart", "near", "reader"]) {
      found.push((await answering(user, { profile, env, argv: ["--agent", name] })) === name);
    }

    expect(found).toEqual([reads, !reads, !reads]);
  });

  it.each([
    ["q1", [], "code-reviewer"],
    ["v2", [], "code-reviewer"],
    ["v2late", [], "reader"],
    ["v3", ["--v3"], "first"],
  ] as const)("%s %j resumes with the agent %s", async (profile, argv, expected) => {
    await using user = await createKiroUser();
    await addAgent(user.host.agentsDir, "first.md", "---\ndescription: One\n---\n");
    await user.chat("hi", { profile, argv: [...argv, "--agent", expected === "first" ? "first" : "reader"] });

    expect(await answering(user, { profile, argv: [...argv, "--agent", "code-reviewer", "--resume"] })).toBe(expected);
  });

  it.each([
    ["v2", [], 1],
    ["v2late", [], 0],
    ["v3", ["--v3"], 0],
  ] as const)("%s %j ends with %d for an unknown conversation", async (profile, argv, expected) => {
    await using user = await createKiroUser();

    const { exitCode } = await user.chat("hi", { profile, argv: [...argv, "--resume-id", "sess_none"] });

    expect(exitCode).toBe(expected);
  });

  it.each([
    ["q1", []],
    ["v2", []],
    ["v2late", []],
    ["v3", ["--v3"]],
  ] as const)("%s %j remembers the turns of its folder, with --resume only", async (profile, argv) => {
    await using user = await createKiroUser();
    await user.chat("keep token-one", { profile, argv });
    await user.chat("and token-two", { profile, argv: [...argv, "--resume"] });

    const recalled = await user.chat("[[recall]]", { profile, argv: [...argv, "--resume"] });
    const elsewhere = await user.chat("[[recall]]", { profile, argv: [...argv, "--resume"], cwd: user.host.home });
    const anew = await user.chat("[[recall]]", { profile, argv });

    expect(recalled.stdout).toContain("token-one token-two");
    expect([elsewhere, anew].map(({ stdout }) => stdout.includes("I remember nothing."))).toEqual([true, true]);
  });

  it("v3 keeps the conversations of its harnesses apart", async () => {
    await using user = await createKiroUser();
    await user.chat("keep token-one", { profile: "v3", argv: ["--v2"] });

    const { stdout } = await user.chat("[[recall]]", { ...V3, argv: ["--v3", "--resume"] });

    expect(stdout).toBe("I remember nothing.\n");
  });

  it.each([
    ["v2", [], true],
    ["v3", ["--v2"], true],
    ["v3", ["--v3"], false],
  ] as const)("%s %j runs an agent's hooks: %s", async (profile, argv, runs) => {
    await using user = await createKiroUser();
    const hooks = { agentSpawn: [{ command: "touch spawned" }], userPromptSubmit: [{ command: "touch asked" }] };
    const fields = profile === "v2" ? { hooks } : { hooks, permissions: { rules: [] } };
    await addAgent(user.host.agentsDir, "hooked.json", JSON.stringify({ name: "hooked", ...fields }));

    await user.chat("hi", { profile, argv: [...argv, "--agent", "hooked"] });

    expect(["spawned", "asked"].map((name) => existsSync(join(user.work, name)))).toEqual([runs, runs]);
  });

  it.each([
    ["q1", true],
    ["v2", false],
  ] as const)("%s knows the older names of a folder's definitions: %s", async (profile, known) => {
    await using user = await createKiroUser();
    await addAgent(user.work, ".amazonq/cli-agents/older.json", '{ "name": "older" }');

    expect(await answering(user, { profile, argv: ["--agent", "older"] })).toBe(known ? "older" : "kiro_default");
  });

  it("v3 takes the user's rules, and refuses a tool that they deny or leave open", async () => {
    await using user = await createKiroUser();
    const rules =
      "rules:\n  - {capability: shell, match: ['echo *'], effect: allow}\n  - {capability: web_fetch, effect: deny}\n";
    await addAgent(join(user.host.home, ".kiro"), "settings/permissions.yaml", rules);

    const { stderr, stdout } = await user.chat("[[run: echo out]] [[run: id]] [[tool web_fetch]]", V3);

    expect(stdout).toBe("out\nI was not allowed to use execute_bash.\nI was not allowed to use web_fetch.\n");
    expect(stderr.match(/is rejected/g)).toHaveLength(2);
    expect(stderr).not.toContain("Credits");
  });
});
