import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { BudgieError } from "../../../src/errors.ts";
import { createLeftWatch } from "../../../src/turn/left-changes.ts";
import { reportChanges } from "../../../src/turn/reports/report-changes.ts";
import { createTurn } from "../../helpers/create-turn.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";

describe("a turn whose git is protected", () => {
  it.each([".git/commondir", ".git/config.worktree", "sub/.git/config", ".git/hooks/new"])(
    "fails when it adds %s, and the error says so",
    async (path) => {
      const directory = createTemporaryFolder();

      const failure = await failureOf(turn(directory, { isProtected: true }, () => write(directory, path)));

      expect(failure).toMatchObject({
        code: "GIT_REDIRECTED",
        report: { response: "Done.", changedExecutablePaths: [path] },
      });
      expect(failure.message).toContain(`"${path}" was changed`);
      expect(failure.message).toContain(`Run no git in "${directory}"`);
    },
  );

  it("does not fail for changes that are only reported", async () => {
    const directory = createTemporaryFolder();

    const reply = await turn(directory, { isProtected: true }, () => write(directory, ".envrc"));

    expect(reply).toEqual({ changedExecutablePaths: [".envrc"], response: "Done.", warnings: ["own"] });
  });
});

describe("a turn whose git is not protected", () => {
  it("reports its changes of git as warnings", async () => {
    const directory = createTemporaryFolder();

    const reply = await turn(directory, { isProtected: false }, () => write(directory, ".git/commondir"));

    expect(reply).toEqual({
      changedExecutablePaths: [".git/commondir"],
      response: "Done.",
      warnings: ["own", expect.stringContaining('".git/commondir" was changed: git reads hooks')],
    });
  });
});

describe("a turn that fails", () => {
  it("reports its new symlinks too", async () => {
    const directory = createTemporaryFolder();

    const failure = await failureOf(
      turn(directory, { isProtected: false }, () => {
        symlinkSync("/etc", join(directory, "link"));
        throw new BudgieError("AGENT_FAILED", "It failed.");
      }),
    );

    expect(failure).toMatchObject({
      code: "AGENT_FAILED",
      report: { warnings: ["own", expect.stringContaining('"link" to "/etc"')] },
    });
  });
});

async function turn(directory: string, { isProtected }: { readonly isProtected: boolean }, work: () => void) {
  const given = await createTurn({ directory });
  given.warn("own");
  const step = reportChanges({ protectExecutablePaths: isProtected, leftWatch: createLeftWatch(), watch: undefined });
  const { report } = given;
  try {
    const { response } = await step(given, async () => {
      await Promise.all(given.ready);
      work();
      return { response: "Done.", file: undefined, exit: {} as never, denied: [], warnings: [] };
    });
    return { response, changedExecutablePaths: report.changedExecutablePaths, warnings: report.warnings };
  } catch (error) {
    if (error instanceof BudgieError) error.report = { ...error.report, ...report };
    throw error;
  }
}

function write(root: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), "x");
}
