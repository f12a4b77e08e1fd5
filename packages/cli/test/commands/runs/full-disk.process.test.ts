import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, type BudgieUser } from "../../helpers/start-budgie.ts";

const LONG = "long ".repeat(18_000).trim();

const stateOf = ({ host }: BudgieUser): string => join(host.home, ".local/state/budgie");

function mount(...argv: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

function unmount(path: string): void {
  spawnSync("umount", ["--lazy", path]);
}

/** Fills a small disk. */
function fill(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, "filling"), Buffer.alloc(bavail * bsize));
}

// Only root may mount; the store's own tests cover every user.
describe.skipIf(process.getuid?.() !== 0)("budgie on a disk", () => {
  it("that is full answers, reports it once, and remembers what the log could not store", async () => {
    await using user = await createBudgieUser();
    const stateDir = stateOf(user);
    mkdirSync(stateDir, { recursive: true });
    mount("-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", stateDir);
    try {
      const { ask, stderr, stdin } = await user.serve();
      const opened = await ask("code-reviewer", { prompt: "Hello" });
      fill(stateDir);

      const sessionId = opened.structuredContent?.["sessionId"];
      const answers = [
        await ask("code-reviewer", { prompt: `[[say: ${LONG}]]`, sessionId }),
        await ask("code-reviewer", { prompt: `[[say: ${LONG}]]`, sessionId }),
      ];
      const refused = await ask("code-reviewer", { prompt: "Hello" });
      const { structuredContent } = await ask("health-check", { directory: undefined });

      // The log has no room either for the delivery of the answers before, which are repeated.
      for (const answer of answers) expect(toText(answer)).toContain(LONG);
      expect(refused.structuredContent).toMatchObject({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/^No session can be opened: the disk of ".*" is full \(ENOSPC\)\. Make room/),
      });
      expect(structuredContent).toMatchObject({ overall: { totalCalls: 4, successCalls: 3 } });
      expect(stderr().match(/Turns are not logged: .*/g)).toEqual([expect.stringContaining("disk is full")]);
      stdin.end();
    } finally {
      unmount(stateDir);
    }
  });

  it("on which only the log cannot be written answers, and reports it once", async () => {
    await using user = await createBudgieUser();
    const file = join(stateOf(user), "runs.sqlite3");
    mkdirSync(stateOf(user), { recursive: true });
    writeFileSync(file, "");
    mount("--bind", file, file);
    mount("-o", "remount,ro,bind", file);
    try {
      const { ask, stderr } = await user.serve();

      const answers = [
        await ask("code-reviewer", { prompt: "[[say: A.]]" }),
        await ask("code-reviewer", { prompt: "[[say: B.]]" }),
      ];

      expect(answers.map(toText)).toEqual(["A.", "B."]);
      expect(stderr().match(/Turns are not logged: .*/g)).toEqual([expect.stringContaining("EROFS")]);
      expect(readFileSync(file, "utf8")).toBe("");
    } finally {
      unmount(file);
    }
  });
});
