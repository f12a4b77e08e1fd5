import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createFakeEngine, WHOLE_ENGINE } from "../../runner-docker/test/helpers/fake-engine.ts";
import { budgiePath, createBudgieUser } from "./helpers/start-budgie.ts";

// More than the buffer of the socket that Node uses as a pipe, and less than the longest prompt.
const LONG = "long ".repeat(75_000).trim();

async function createUserWithLongAnswer() {
  const user = await createBudgieUser();
  const { ask } = await user.start({ args: ["--max-answer-bytes", "0"] });
  const { structuredContent } = await ask("code-reviewer", { prompt: `[[say: ${LONG}]]` });
  return { user, runId: String(structuredContent?.["runId"]) };
}

describe("a command that prints more than a pipe's capacity", () => {
  it("exits when all of it was read, however late", async () => {
    const { runId, user } = await createUserWithLongAnswer();
    await using _ = user;

    const child = user.launch(["runs", "show", runId, "--json"]);
    await once(child.stdout ?? Readable.from([]), "readable");
    // An exit that does not wait for the reader takes less time.
    await Promise.race([once(child, "exit"), sleep(300)]);
    const early = child.exitCode;
    const printed = await text(child.stdout ?? Readable.from([]));

    expect(early).toBe(null);
    expect(JSON.parse(printed)).toMatchObject({ answer: LONG });
  });

  it("exits silently when its reader closes the pipe", async () => {
    const { runId, user } = await createUserWithLongAnswer();
    await using _ = user;

    const child = user.launch(["runs", "show", runId]);
    const stderr = text(child.stderr ?? Readable.from([]));
    child.stdout?.once("data", () => child.stdout?.destroy());
    const [exitCode] = (await once(child, "close")) as [number];

    expect({ exitCode, stderr: await stderr }).toEqual({ exitCode: 0, stderr: "" });
  });
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

describe("--sandbox", () => {
  it.each([
    [
      "an engine without the image",
      { "GET /version": { ApiVersion: "1.41" }, "GET /info": WHOLE_ENGINE },
      /"budgie build-image"/,
    ],
    [
      "an engine without limits",
      { "GET /version": { ApiVersion: "1.41" }, "GET /info": { ...WHOLE_ENGINE, MemoryLimit: false } },
      /cannot limit memory .* --accept-weaker limits\./,
    ],
  ])("fails with %s, whatever the client requested, even if it has disconnected", async (_engine, answers, message) => {
    await using user = await createBudgieUser();
    await using engine = await createFakeEngine(answers);
    const child = user.launch(["--sandbox"], engine.hostEnv);
    child.stdin?.on("error", () => undefined).end(`${JSON.stringify(INITIALIZE)}\n`);

    const output = [child.stdout, child.stderr].map((stream) => text(stream ?? Readable.from([])));
    const [[exitCode], stdout, stderr] = await Promise.all([once(child, "close"), ...output]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^budgie: .*\n$/);
  });
});

describe("the installed program", () => {
  const runProgram = (argv: readonly string[]) =>
    new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile(process.execPath, argv, (error, _stdout, stderr) => resolve({ code: error?.code, stderr }));
    });

  it("says how to build a checkout that is not built", async () => {
    await using user = await createBudgieUser();
    const copy = join(user.workspace, "bin", "budgie.js");
    cpSync(dirname(budgiePath), dirname(copy), { recursive: true });
    writeFileSync(join(user.workspace, "package.json"), '{ "type": "module" }');
    chmodSync(copy, 0o755);

    const { code, stderr } = await runProgram([copy]);

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'budgie: This checkout is not built. Run "npm run build" in it.\n',
    });
  });

  it.each(["18.20.4", "20.18.3"])("refuses Node %s", async (version) => {
    const pretend = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;

    const { code, stderr } = await runProgram(["--import", `data:text/javascript,${pretend}`, budgiePath]);

    expect(code).toBe(1);
    expect(stderr).toMatch(/^budgie: Node 20\.19 or later is needed, and this is v\S+\.\n$/);
  });
});
