import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AGENT_PRESETS, type AgentPreset } from "../../src/agents/agent-presets.ts";

const root = new URL("../../../../", import.meta.url);

describe.each(Object.entries<AgentPreset>(AGENT_PRESETS))("the preset %s", (name, { npm, tried }) => {
  it("is documented with its version and what was tried", () => {
    const page = readFileSync(new URL("docs/agents.md", root), "utf8").replace(/\s+/g, " ");
    const [, tested = "", seen = "", untried = ""] =
      /Tested in budgie: (.*?)\. Tested where (.*?)\. Untried: (.*?)\. /.exec(page) ?? [];

    const [, program, version] = /^(.+)@(.+)$/.exec(npm ?? "") ?? [];
    const told = npm === undefined ? `\`${name}\`` : `\`${program}\` ${version}`;
    expect({ budgie: tested, terms: seen, no: untried }[tried]).toContain(told);
    expect(page).toContain(`\`${name}\``);
  });

  it("has the version that the tests run", () => {
    const recipe = JSON.parse(readFileSync(new URL("docker/programs/package.json", root), "utf8")) as {
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
    };
    // opencode-ai has its program in a package for each platform.
    const { dependencies, optionalDependencies } = recipe;
    const pinned = { ...dependencies, "opencode-ai": optionalDependencies["opencode-linux-x64-baseline"] };

    const [, program = "", version] = /^(.+)@(.+)$/.exec(npm ?? "") ?? [];

    expect(
      Object.entries(pinned).find(([key]) => key === program)?.[1] ?? (tried === "budgie" ? "none" : version),
    ).toBe(version);
  });
});
