import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { listTraces, openEngine } from "./helpers/engine.ts";
import { createBudgieUser, waitFor, type BudgieUser } from "./helpers/start-budgie.ts";

const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

let llm: FakeLlm;
beforeAll(async () => {
  llm = await createFakeLlm();
});
afterAll(async () => {
  await llm[Symbol.asyncDispose]();
});

describe("Codex between two turns of its session", () => {
  it("stays in its container, and remembers", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user);

    const first = await ask("coder", {
      prompt: "Remember token-parrot. [[write /workspace/a.txt: one]] [[say: Done.]]",
    });
    const [container] = await listTurns(user);
    const { sessionId } = first.structuredContent as { sessionId: string };
    const second = await ask("coder", { sessionId, prompt: "[[recall]]" });

    expect(first.structuredContent).toMatchObject({ response: "Done.", disk: { homeBytes: expect.any(Number) } });
    expect(second.structuredContent).toMatchObject({ response: "token-parrot", disk: expect.anything() });
    expect(container).toBeDefined();
    expect(await listTurns(user)).toEqual([container]);
    for (const { structuredContent } of [first, second]) {
      expect(structuredContent).toMatchObject({ egress: { allowed: [{ host: "llm.test" }], denied: [] } });
    }
  });

  it("resumes in a new container if its next turn may do less, or somebody removed its container", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user);
    const first = await ask("coder", { prompt: "Remember token-parrot. [[say: Done.]]" });
    const { sessionId } = first.structuredContent as { sessionId: string };
    const [before = ""] = await listTurns(user);

    const reading = await ask("coder", {
      sessionId,
      workspace: "ro",
      prompt: "[[run: touch /workspace/x || touch /tmp/refused]] [[recall]]",
    });
    const [after = ""] = await listTurns(user);
    const engine = await openEngine();
    await engine.getContainer(after).remove({ force: true });
    const third = await ask("coder", { sessionId, workspace: "ro", prompt: "[[recall]]" });

    expect(reading.structuredContent).toMatchObject({ response: "token-parrot" });
    expect(reading.structuredContent).not.toHaveProperty("changedExecutablePaths");
    expect(third.structuredContent).toMatchObject({ response: "token-parrot", retried: false });
    expect(new Set([before, after, ...(await listTurns(user))]).size).toBe(3);
  });

  it("ends when it was idle, and resumes", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user, "1ms");
    const first = await ask("coder", { prompt: "Remember token-parrot. [[say: Done.]]" });
    const { sessionId } = first.structuredContent as { sessionId: string };

    await waitFor(async () => (await listTurns(user)).length === 0);

    const second = await ask("coder", { sessionId, prompt: "[[recall]]" });
    expect(second.structuredContent).toMatchObject({ response: "token-parrot" });
  });

  it("leaves nothing when budgie ends, or is killed", async () => {
    for (const end of ["close", "kill"] as const) {
      const user = await createBudgieUser();
      const { ask, child, client } = await startWith(user);
      await ask("coder", { prompt: "[[say: Done.]]" });
      expect(await listTurns(user)).toHaveLength(1);

      if (end === "close") await client.close();
      else child.kill("SIGKILL");

      // Garbage collection removes the rest that a killed budgie leaves.
      await waitFor(async () => (await listTurns(user)).length === 0);
      if (end === "kill") await user.run(["gc"]);
      await user[Symbol.asyncDispose]();
      expect(await listTraces(user)).toEqual([]);
    }
  });
});

/** Lists the ids of the running containers of turns. */
async function listTurns({ host }: BudgieUser): Promise<readonly string[]> {
  const engine = await openEngine();
  const found = await engine.listContainers({ filters: { label: ["dev.budgie.role=turn"] } });
  return found.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(host.home)).map(({ Id }) => Id);
}

async function startWith(user: BudgieUser, warmIdle = "5m") {
  const config = join(user.host.home, "budgie.json");
  const script = `mkdir -p ~/.codex
    cat >~/.codex/config.toml <<END
model = "gpt-5.4-mini"
model_provider = "fake"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "https://llm.test:${llm.port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
END
    exec /opt/programs/node_modules/@zed-industries/codex-acp-linux-*/bin/codex-acp`;
  const coder = {
    protocol: "acp",
    description: "Codes.",
    command: "sh",
    args: ["-c", script],
    env: ["OPENAI_API_KEY"],
  };
  const allowHost = [`llm.test:${llm.port}=127.0.0.1`];
  writeFileSync(config, JSON.stringify({ caFile: llm.caFile, allowHost, agents: { coder } }));
  return user.start({
    sandbox: true,
    args: ["--sandbox-image", PROGRAMS_IMAGE, "--config", config, "--warm-idle", warmIdle],
    env: { OPENAI_API_KEY: "test-key" },
  });
}
