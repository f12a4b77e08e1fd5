import { describe, expect, it } from "vitest";
import { toFlag, formatOptionName, toVariable } from "../../src/options/format-option-name.ts";

describe("an option's name", () => {
  it("is spelled for the command line, the environment and messages", () => {
    expect(toFlag("contextSummaryPrompt")).toBe("--context-summary-prompt");
    expect(toVariable("contextSummaryPrompt")).toBe("BUDGIE_CONTEXT_SUMMARY_PROMPT");
    expect(formatOptionName("agentsDir")).toBe("--agents-dir (or BUDGIE_AGENTS_DIR)");
  });
});
