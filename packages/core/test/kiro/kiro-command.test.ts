import { describe, expect, it } from "vitest";
import { toKiroCommand, toModel, type KiroRun } from "../../src/kiro/kiro-command.ts";

const RUN: KiroRun = {
  binary: "kiro-cli",
  agent: "tester",
  model: undefined,
  resume: false,
  trustAllTools: false,
  env: { KIRO_API_KEY: "k" },
  projections: [{ source: "/home/me/.kiro/steering", home: ".kiro/steering" }],
};

describe("toKiroCommand", () => {
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
    expect(toKiroCommand({ ...RUN, ...run }).argv.join(" ")).toBe(argv);
  });

  it("keeps a name with spaces in one argument", () => {
    expect(toKiroCommand({ ...RUN, agent: "my agent --resume" }).argv).toContain("my agent --resume");
  });

  it("asks for Kiro's login, passes on environment and mounts, and hides what a repository may not redefine", () => {
    const { env, projections } = RUN;
    const hidden = { ".kiro": { entries: { agents: "empty folder" } }, ".amazonq": expect.anything() };
    expect(toKiroCommand(RUN)).toMatchObject({ login: "kiro", env, projections, hidden });
  });
});

describe("toModel", () => {
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
    expect(toModel({ ...OWN, model: "prompt" }, OPTION)).toBe("prompt");
    expect(toModel(OWN, OPTION)).toBe("option");
  });

  it("leaves the choice to Kiro for an agent file with a model, and when asked to", () => {
    expect(toModel(OWN, DEFAULT)).toBeUndefined();
    expect(toModel(NONE, AUTO)).toBeUndefined();
  });

  it("gives the default to an agent without any", () => {
    expect(toModel(NONE, DEFAULT)).toBe("default");
  });
});
