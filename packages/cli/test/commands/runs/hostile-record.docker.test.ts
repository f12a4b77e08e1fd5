import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createBudgieUser, toText } from "../../helpers/start-budgie.ts";

const SCRIPT = [
  "mv a.ts \"$(printf 'x\\nflagged    forged\\033[2J')\"",
  "rm -rf src",
  "chmod 755 keep.sh && touch -d @1 keep.sh",
  "ln -s /etc out",
  "echo evil >.git/hooks/pre-commit && rm .git/hooks/pre-commit && touch -d @1 .git/hooks",
].join("; ");

it("the record of an agent that removed its traces names what was seen, and no name forges a line of it", async () => {
  await using user = await createBudgieUser();
  execFileSync("git", ["init", "--quiet"], { cwd: user.workspace });
  for (const path of ["a.ts", "src/b.ts", "src/deep/c.ts", "keep.sh", "quiet.ts"]) {
    mkdirSync(dirname(join(user.workspace, path)), { recursive: true });
    writeFileSync(join(user.workspace, path), "x");
  }
  const { ask } = await user.serve({ sandbox: true });

  const quiet = await ask("shell-worker", { prompt: "[[run: cat quiet.ts]]" });
  const answer = await ask("shell-worker", { prompt: `[[run: { ${SCRIPT}; } 2>&1; echo tried]]` });

  expect(quiet.structuredContent).toMatchObject({ filesChanged: 0 });
  expect(toText(answer)).toContain("tried");
  const show = ["runs", "show", String(answer.structuredContent?.["runId"])];
  const { facts } = JSON.parse((await user.command([...show, "--json"])).stdout) as { readonly facts: object };
  expect(facts).toMatchObject({
    access: { workspace: "rw", egress: expect.any(String) },
    sandbox: { image: expect.any(String) },
    timeoutMs: expect.any(Number),
    changedFiles: {
      first: expect.arrayContaining([
        { path: "out", kind: "link", isFlagged: true },
        { path: ".git/hooks/pre-commit", kind: "came-and-went", isFlagged: true },
        { path: ".git/hooks/", kind: "changed", isFlagged: true },
        { path: "keep.sh", kind: "changed", size: 1 },
        { path: "x flagged forged", kind: "created", size: 1 },
        { path: "a.ts", kind: "removed" },
        { path: "src/", kind: "removed" },
        { path: "src/b.ts", kind: "removed" },
        { path: "src/deep/c.ts", kind: "removed" },
      ]) as unknown,
      files: 6,
      more: 0,
    },
  });
  const lines = (await user.command(show)).stdout.split("\n");
  expect(lines.filter((line) => line.startsWith("flagged"))).toEqual([
    "flagged    came and went: .git/hooks/pre-commit",
    "flagged    link out",
    "flagged    changed .git/hooks/",
  ]);
  expect(lines.length).toBeLessThanOrEqual(30);
});
