import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { budgiePath, createBudgieUser, toText, type BudgieUser } from "./helpers/start-budgie.ts";

const callBudgie = fileURLToPath(new URL("fixtures/call-budgie.mjs", import.meta.url));
const CLEARED = 'env -i PATH="$PATH" HOME="$HOME" FAKE_KIRO_LOG="$FAKE_KIRO_LOG"';
// Waits for background processes, as long as a turn may take.
const AWAIT = "for i in $(seq 600); do grep -qE '^(answered|refused)' out && break; sleep 0.1; done; cat out";

describe("a budgie that an agent started", () => {
  it("answers if no agent is above it (control)", async () => {
    await using user = await createBudgieUser();

    const { stdout } = spawnSync("sh", ["-c", `${CLEARED} ${toCall(user)}`], {
      env: { PATH: process.env["PATH"], HOME: user.host.home },
      encoding: "utf8",
    });

    expect(stdout).toMatch(/^tools: 4\nanswered: /);
  });

  it.each([
    ["its environment was passed on", (call: string) => call],
    [
      "its environment was passed on by the background of a shell that ended",
      (call: string) => `(setsid ${call} >out 2>&1 &); ${AWAIT}`,
    ],
  ])("offers no tools, and refuses every call when %s", async (_how, toCommand) => {
    await using user = await createBudgieUser();
    const { ask } = await user.start();

    const answer = await ask("shell-worker", { prompt: `[[run: ${toCommand(toCall(user))}]]` });

    expect(toText(answer)).toMatch(/^(?:budgie: .*\n)*tools: 0\nrefused: TOO_DEEP: An agent started this budgie/m);
    expect(toText(answer)).toContain(
      "budgie: An agent started this budgie, and --max-depth of the outermost allows no",
    );
    expect(user.kiroCalls()).toHaveLength(1);
  });

  it.each([
    ["cleared", (call: string) => `${CLEARED} ${call}`],
    ["changed", (call: string) => `BUDGIE_DEPTH=0 BUDGIE_MAX_DEPTH=99 ${call}`],
  ])("is not recognised without a sandbox if its environment was %s, as documented", async (_how, toCommand) => {
    await using user = await createBudgieUser();
    const { ask } = await user.start();

    const answer = await ask("shell-worker", { prompt: `[[run: ${toCommand(toCall(user))}]]` });

    expect(toText(answer)).toMatch(/^tools: 4\nanswered: /m);
  });

  it("answers as deep as the outermost budgie allows, whatever inner ones say", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ args: ["--max-depth", "2"] });
    const deeper = join(user.workspace, "deeper");
    writeFileSync(deeper, `[[run: ${toCall(user)} --max-depth 99]]`);

    const answer = await ask("shell-worker", { prompt: `[[run: ${toCall(user, deeper)}]]` });

    expect(toText(answer)).toMatch(/answered: [^]*refused: TOO_DEEP: .* allows a depth of 2 and no further nesting/);
    expect(user.kiroCalls()).toHaveLength(2);
  });

  it("treats a malformed depth as too deep", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ env: { BUDGIE_DEPTH: "none" }, args: ["--max-depth", "99"] });

    expect(toText(await ask("code-reviewer", { prompt: "Hello" }))).toMatch(/^TOO_DEEP: /);
  });

  it("does not count refused turns", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.start({ env: { BUDGIE_DEPTH: "1" } });

    await ask("code-reviewer", { prompt: "Hello" });
    const health = await ask("health-check", { directory: undefined });

    expect(JSON.parse(toText(health))).toMatchObject({ overall: { totalCalls: 0 } });
    expect(stderr().match(/An agent started this budgie/g)).toHaveLength(1);
  });
});

/** Returns the command with which an agent's shell calls a nested budgie. */
function toCall({ workspace }: BudgieUser, promptFile = join(workspace, "prompt")): string {
  writeFileSync(join(workspace, "prompt"), "Hello");
  const nested = `${process.execPath} ${budgiePath} --kiro-binary ${kiroCliPath}`;
  return `${process.execPath} ${callBudgie} shell-worker ${workspace} ${promptFile} ${nested} --env FAKE_KIRO_LOG`;
}
