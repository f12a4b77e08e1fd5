import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readPromptText } from "../../../src/kiro/v3/read-prompt-text.ts";

describe("readPromptText", () => {
  function createPath(): string {
    const folder = mkdtempSync(join(tmpdir(), "budgie-prompt-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return join(folder, "prompt.md");
  }

  it("reads a file", () => {
    const path = createPath();
    writeFileSync(path, "You code.\n");

    expect(readPromptText("coder", path)).toBe("You code.\n");
  });

  it.each<[string, (path: string) => void]>([
    ["missing file", () => undefined],
    ["folder", mkdirSync],
    ["device", (path) => symlinkSync("/dev/zero", path)],
    ["file of more than 1 MiB", (path) => writeFileSync(path, "x".repeat(2 ** 20 + 1))],
  ])("refuses a %s", (_what, create) => {
    const path = createPath();
    create(path);

    expect(() => readPromptText("coder", path)).toThrow(
      expect.objectContaining({
        code: "AGENT_NOT_FOUND",
        message: expect.stringContaining('prompt of the agent "coder"'),
      }),
    );
  });
});
