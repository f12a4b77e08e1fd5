import { once } from "node:events";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "./helpers/start-budgie.ts";

// More than the socket holds that Node takes for a pipe, and less than the longest prompt.
const LONG = "long ".repeat(75_000).trim();

async function createUserWithLongAnswer() {
  const user = await createBudgieUser();
  const { ask } = await user.start({ args: ["--max-answer-bytes", "0"] });
  const { structuredContent } = await ask("code-reviewer", { prompt: `[[say: ${LONG}]]` });
  return { user, runId: String(structuredContent?.["runId"]) };
}

describe("a command that prints more than a pipe holds", () => {
  it("ends when all of it was read, however late", async () => {
    const { runId, user } = await createUserWithLongAnswer();
    await using _ = user;

    const child = user.launch(["runs", "show", runId, "--json"]);
    // Longer than it takes where it does not wait.
    await Promise.race([once(child, "exit"), sleep(2000)]);
    const early = child.exitCode;
    const printed = await text(child.stdout ?? Readable.from([]));

    expect(early).toBe(null);
    expect(JSON.parse(printed)).toMatchObject({ answer: LONG });
  });

  it("ends quietly when its reader has seen enough", async () => {
    const { runId, user } = await createUserWithLongAnswer();
    await using _ = user;

    const child = user.launch(["runs", "show", runId]);
    const stderr = text(child.stderr ?? Readable.from([]));
    child.stdout?.once("data", () => child.stdout?.destroy());
    const [exitCode] = (await once(child, "close")) as [number];

    expect({ exitCode, stderr: await stderr }).toEqual({ exitCode: 0, stderr: "" });
  });
});
