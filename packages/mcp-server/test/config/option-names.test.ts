import { describe, expect, it } from "vitest";
import { toFlag, toOptionName, toVariable } from "../../src/config/option-names.ts";

describe("an option's name", () => {
  it("is spelled for the command line, the environment and messages", () => {
    expect(toFlag("contextSummaryPrompt")).toBe("--context-summary-prompt");
    expect(toVariable("contextSummaryPrompt")).toBe("BUDGIE_CONTEXT_SUMMARY_PROMPT");
    expect(toOptionName("agentsDir")).toBe("--agents-dir (or BUDGIE_AGENTS_DIR)");
  });
});
