import { describe, expect, it } from "vitest";
import { DEFAULT_TEXT_LIMITS } from "@budgie/core/turn";
import { parsePrompt } from "../../src/turn/check-call.ts";

describe("parsePrompt", () => {
  it("accepts a prompt of 400,000 bytes", () => {
    const prompt = "é".repeat(200_000);

    expect(parsePrompt(prompt, "tester", DEFAULT_TEXT_LIMITS)).toBe(prompt);
  });

  it("refuses a longer one, and gives its length, the limit and what to do", () => {
    expect(() => parsePrompt(`${"é".repeat(200_000)}!`, "tester", DEFAULT_TEXT_LIMITS)).toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message:
          'The prompt for "tester" has 400,001 bytes, and 400,000 are allowed. ' +
          'Put the material into a file in the directory and name that, or raise the option "maxPromptBytes".',
      }),
    );
  });

  it("refuses no prompt for its length if the limit is 0", () => {
    const prompt = "x".repeat(400_001);

    expect(parsePrompt(prompt, "tester", { ...DEFAULT_TEXT_LIMITS, maxPromptBytes: 0 })).toBe(prompt);
  });

  it.each(["", "  \n\t", "\u200B\u{E0041}", "\u001B[31m "])("refuses the empty prompt %j", (prompt) => {
    expect(() => parsePrompt(prompt, "tester", DEFAULT_TEXT_LIMITS)).toThrow(
      expect.objectContaining({ code: "INPUT_INVALID", message: expect.stringContaining("is empty") }),
    );
  });

  it("removes invisible characters, unless sanitizing is off", () => {
    const prompt = "Read\u{E0041}\u202E this\r\n";

    expect(parsePrompt(prompt, "tester", DEFAULT_TEXT_LIMITS)).toBe("Read this\n");
    expect(parsePrompt(prompt, "tester", { ...DEFAULT_TEXT_LIMITS, sanitize: false })).toBe(prompt);
  });
});
