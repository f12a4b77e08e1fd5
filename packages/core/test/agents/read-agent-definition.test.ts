import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAgentDefinition } from "../../src/agents/agent-definition.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("readAgentDefinition", () => {
  it("reads a file as it is now, under the agent's name", () => {
    const file = join(createTemporaryFolder(), "x.md");
    writeFileSync(file, "---\nname: other\n---\nHello");

    expect(readAgentDefinition({ file, name: "team/x" })).toEqual({ name: "team/x", prompt: "Hello" });
  });

  it.each([
    ["is gone", undefined, "it has no agent"],
    ["is a prompt", "Hello", "it has no agent"],
    ["is malformed", "---\nname: x\n", "its frontmatter has no end"],
    ["is too large", "x".repeat(2 ** 20 + 1), "it is larger than 1 MiB"],
  ])("throws for a file that %s", (_what, text, reason) => {
    const file = join(createTemporaryFolder(), "x.md");
    if (text !== undefined) writeFileSync(file, text);

    expect(() => readAgentDefinition({ file, name: "x" })).toThrow(
      expect.objectContaining({
        code: "AGENT_NOT_FOUND",
        message: expect.stringContaining(`"${file}" cannot be used: ${reason}`),
      }),
    );
  });
});
