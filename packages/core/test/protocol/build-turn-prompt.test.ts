import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PromptFiles } from "@budgie/core/protocol";
import { checkFilesBy } from "@budgie/core/text";
import { buildSummaryPrompt, buildTurnPrompt } from "../../src/protocol/build-turn-prompt.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const PATHS = { workspace: "/workspace", responseFile: "/home/agent/response-1.txt" };

describe("buildTurnPrompt", () => {
  it("joins the workspace, the prompt, and the system prompt with its placeholders filled in", () => {
    const files = templates({ system: "To {{RESPONSE_FILE}}, in {{WORKING_DIRECTORY}}; {{RESPONSE_FILE}}!" });

    expect(buildTurnPrompt("fix the bug", files, PATHS)).toBe(
      "In directory /workspace, fix the bug\n\n" +
        "To /home/agent/response-1.txt, in /workspace; /home/agent/response-1.txt!",
    );
  });

  it("inserts paths literally, whatever they contain", () => {
    const files = templates({ system: "{{RESPONSE_FILE}} {{WORKING_DIRECTORY}}" });
    const paths = { workspace: "/a/$&/$1/$$", responseFile: "/b/{{WORKING_DIRECTORY}}/$`" };

    expect(buildTurnPrompt("x", files, paths)).toBe(
      "In directory /a/$&/$1/$$, x\n\n/b/{{WORKING_DIRECTORY}}/$` /a/$&/$1/$$",
    );
  });

  it("leaves out every line that names the response file when there is none", () => {
    const files = templates({
      system: "To {{RESPONSE_FILE}}.\nIn {{WORKING_DIRECTORY}}.\r\nNot to {{RESPONSE_FILE}}!",
    });
    const paths = { ...PATHS, responseFile: undefined };

    expect(buildTurnPrompt("keep {{RESPONSE_FILE}}", files, paths)).toBe(
      "In directory /workspace, keep {{RESPONSE_FILE}}\n\nIn /workspace.\r\n",
    );
    expect(buildTurnPrompt("x", templates({}), paths)).not.toMatch(/\{\{|undefined|Write your response/);
  });

  it("fills in nothing in the caller's prompt", () => {
    const prompt = buildTurnPrompt("explain {{RESPONSE_FILE}}", templates({ system: "" }), PATHS);

    expect(prompt).toBe("In directory /workspace, explain {{RESPONSE_FILE}}\n\n");
  });

  it.each(["!rm -rf /", "/quit", "@secrets", "--trust-all-tools", "\n!ls", "\uFEFF/quit"])(
    "prevents that %j is read as a command",
    async (prompt) => {
      expect(buildTurnPrompt(prompt, templates({}), PATHS)).toMatch(/^In directory /);
    },
  );
});

describe("buildSummaryPrompt", () => {
  it("fills in the placeholders of the template", () => {
    const files = templates({ contextSummary: "Write it to {{RESPONSE_FILE}} from {{WORKING_DIRECTORY}}" });

    expect(buildSummaryPrompt(files, PATHS)).toBe("Write it to /home/agent/response-1.txt from /workspace");
  });

  it.each([
    "!ls",
    "/quit",
    "@x",
    "-h",
    "  !ls",
    "\n/quit",
    "\uFEFF!ls",
    "\u{E0001}!ls",
    "\u200B!ls",
    "{{RESPONSE_FILE}}",
    "",
  ])("adds a first word if the template %j begins with none", async (contextSummary) => {
    const prompt = buildSummaryPrompt(templates({ contextSummary }), PATHS);

    expect(prompt).toBe(`In directory /workspace: ${contextSummary.replace("{{RESPONSE_FILE}}", PATHS.responseFile)}`);
  });
});

describe("the templates", () => {
  it("are built in if there is no file, and name both paths", () => {
    const files = templates({});

    expect(buildTurnPrompt("x", files, PATHS)).toContain("Write your response to: /home/agent/response-1.txt");
    expect(buildTurnPrompt("x", files, PATHS)).toContain("Working directory: /workspace");
    expect(buildSummaryPrompt(files, PATHS)).toMatch(
      /^Write your previous response to the file: \/home\/agent\/response-1\.txt\n/,
    );
  });

  it("are read again for every prompt", () => {
    const files = templates({ system: "old" });
    buildTurnPrompt("x", files, PATHS);

    writeFileSync(files.system, "new");

    expect(buildTurnPrompt("x", files, PATHS)).toBe("In directory /workspace, x\n\nnew");
  });

  it("are named by path if they cannot be read", () => {
    const files = templates({});
    mkdirSync(files.system);

    expect(() => buildTurnPrompt("x", files, PATHS)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(/^Cannot read the prompt file ".*_system\.md" \(it is not a file\)\. /),
      }),
    );
  });

  it("are neither a device nor larger than 1 MiB", () => {
    const files = templates({ contextSummary: "x".repeat(2 ** 20 + 1) });
    symlinkSync("/dev/zero", files.system);

    expect(() => buildTurnPrompt("x", files, PATHS)).toThrow("(it is not a file)");
    expect(() => buildSummaryPrompt(files, PATHS)).toThrow("(it is larger than 1 MiB)");
  });

  it("are refused if an agent may have written what a link leads to", () => {
    const files = templates({ contextSummary: "Summarize." });
    const target = `${files.system}.real`;
    writeFileSync(target, "Obey.");
    symlinkSync(target, files.system);
    const check = (path: string): void => {
      if (path === target || path === files.contextSummary) throw new Error(`agents could write ${path}`);
    };
    checkFilesBy({ check });
    onTestFinished(() => checkFilesBy(undefined));

    expect(() => buildTurnPrompt("x", files, PATHS)).toThrow(`(agents could write ${target})`);
    expect(() => buildSummaryPrompt(files, PATHS)).toThrow(`(agents could write ${files.contextSummary})`);
  });
});

function templates(content: { system?: string; contextSummary?: string }): PromptFiles {
  const folder = createTemporaryFolder();
  const files = { system: join(folder, "_system.md"), contextSummary: join(folder, "_context-summary.md") };
  if (content.system !== undefined) writeFileSync(files.system, content.system);
  if (content.contextSummary !== undefined) writeFileSync(files.contextSummary, content.contextSummary);
  return files;
}
