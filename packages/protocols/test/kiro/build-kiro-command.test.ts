import { describe, expect, it } from "vitest";
import type { KiroFlags } from "../../src/kiro/help/kiro-flags.ts";
import {
  buildKiroAcpCommand,
  buildKiroCommand,
  buildKiroEnv,
  buildKiroV3Command,
  chooseModel,
  chooseV2AcpFlags,
  chooseV2ChatFlags,
  type KiroRun,
} from "../../src/kiro/build-kiro-command.ts";

const RUN: KiroRun = {
  binary: "kiro-cli",
  harness: [],
  agent: "tester",
  model: undefined,
  resume: false,
  trustAllTools: false,
  env: { KIRO_API_KEY: "k" },
  projections: [{ source: "/home/me/.kiro/steering", home: ".kiro/steering" }],
};

describe("buildKiroCommand", () => {
  it.each<[string, Partial<KiroRun>, string]>([
    ["a first turn", {}, "kiro-cli chat --agent tester --no-interactive"],
    ["a later turn", { resume: true }, "kiro-cli chat --agent tester --no-interactive --resume"],
    ["a model", { model: "m-1" }, "kiro-cli chat --agent tester --no-interactive --model m-1"],
    ["trust", { trustAllTools: true }, "kiro-cli chat --agent tester --no-interactive --trust-all-tools"],
    [
      "everything",
      { binary: "/opt/kiro", model: "m", resume: true, trustAllTools: true },
      "/opt/kiro chat --agent tester --no-interactive --model m --resume --trust-all-tools",
    ],
  ])("builds the arguments of %s", (_what, run, argv) => {
    expect(buildKiroCommand({ ...RUN, ...run }).argv.join(" ")).toBe(argv);
  });

  it("names the harness before all else, over ACP too", () => {
    const run = { ...RUN, harness: ["--agent-engine", "v2"] };

    expect(buildKiroCommand(run).argv.join(" ")).toMatch(/^kiro-cli chat --agent-engine v2 --agent tester /);
    expect(buildKiroAcpCommand(run).argv.join(" ")).toBe("kiro-cli acp --agent-engine v2 --agent tester");
  });

  it("keeps a name with spaces in one argument", () => {
    expect(buildKiroCommand({ ...RUN, agent: "my agent --resume" }).argv).toContain("my agent --resume");
  });

  it("asks for Kiro's login, passes on environment and mounts, and hides what a repository may not redefine", () => {
    const { env, projections } = RUN;
    const hidden = { ".kiro": { entries: { agents: "empty folder" } }, ".amazonq": expect.anything() };
    expect(buildKiroCommand(RUN)).toMatchObject({ login: "kiro", env, projections, hidden });
  });
});

describe("buildKiroV3Command", () => {
  it("names no agent, model or trust, which V3 refuses over ACP", () => {
    expect(buildKiroV3Command({ binary: "kiro-cli", env: {}, projections: [] }).argv.join(" ")).toBe(
      "kiro-cli acp --agent-engine v3 --auth-method cli",
    );
  });
});

describe("the flags of V2", () => {
  const flags = (chat: Partial<KiroFlags["chat"]>, acp: Partial<KiroFlags["acp"]> = chat): KiroFlags => ({
    chat: { hasV2: false, engines: undefined, ...chat },
    acp: { hasV2: false, engines: undefined, ...acp },
    hasRuntime: false,
  });

  it.each<[string, KiroFlags | undefined, string, string]>([
    ["nothing", undefined, "", ""],
    ["no harness", flags({}), "", ""],
    ["both ways", flags({ hasV2: true, engines: ["v2", "v3"] }), "--v2", "--agent-engine v2"],
    ["--v2 alone", flags({ hasV2: true }), "--v2", "--v2"],
    ["engines alone", flags({ engines: ["v1", "v2"] }), "--agent-engine v2", "--agent-engine v2"],
    ["engines without names", flags({ engines: [] }), "--agent-engine v2", "--agent-engine v2"],
    ["other engines", flags({ engines: ["v3"] }), "", ""],
    ["different ways", flags({ hasV2: true }, { engines: ["v2"] }), "--v2", "--agent-engine v2"],
  ])("follow a help that lists %s", (_what, ...[listed, chat, acp]) => {
    expect(chooseV2ChatFlags(listed).join(" ")).toBe(chat);
    expect(chooseV2AcpFlags(listed).join(" ")).toBe(acp);
  });
});

describe("buildKiroEnv", () => {
  it("lets Kiro find agents in the home of a sandbox alone, and run the image's program", () => {
    expect(buildKiroEnv({ env: { KIRO_API_KEY: "k" }, sandboxHome: "/home/me" }, "/home/agent")).toEqual({
      KIRO_API_KEY: "k",
      KIRO_SKIP_BINARY_PINNING: "1",
      KIRO_AGENT_CONFIG_DIR: "/home/agent/.kiro/agents",
    });
  });

  it("adds nothing without a sandbox", () => {
    expect(buildKiroEnv({ env: { KIRO_API_KEY: "k" } }, "/sessions/1")).toEqual({ KIRO_API_KEY: "k" });
  });
});

describe("chooseModel", () => {
  const [OWN, NONE] = [
    { model: undefined, hasModel: true },
    { model: undefined, hasModel: false },
  ];
  const [DEFAULT, OPTION, AUTO] = [
    { model: undefined, defaultModel: "default" },
    { model: "option", defaultModel: undefined },
    { model: undefined, defaultModel: undefined },
  ];

  it("prefers the prompt file's model to the option's, and that to the agent file's", () => {
    expect(chooseModel({ ...OWN, model: "prompt" }, OPTION)).toBe("prompt");
    expect(chooseModel(OWN, OPTION)).toBe("option");
  });

  it("leaves the choice to Kiro for an agent file with a model, and when asked to", () => {
    expect(chooseModel(OWN, DEFAULT)).toBeUndefined();
    expect(chooseModel(NONE, AUTO)).toBeUndefined();
  });

  it("gives the default to an agent without any", () => {
    expect(chooseModel(NONE, DEFAULT)).toBe("default");
  });
});
