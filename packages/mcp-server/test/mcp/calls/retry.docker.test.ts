import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { openEngine } from "../../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

const sandbox = true;

describe("a sandboxed turn whose first attempt fails", () => {
  it("is retried if the agent did nothing, in the same conversation, after the first container was removed", async () => {
    await using user = await createBudgieUser();
    // Containers that are made ahead belong to no attempt.
    const { ask } = await user.serve({ sandbox, env: { BUDGIE_AHEAD: "0" } });
    const { structuredContent } = await ask("code-reviewer", { prompt: "Remember token-fig." });
    const { sessionId } = structuredContent ?? {};
    fillWorkspace(user);
    const listEvents = await watchTurns(sessionId);

    const answer = await ask("code-reviewer", { prompt: "[[fault-once crash]][[recall]]", sessionId });

    expect(answer.structuredContent).toMatchObject({ response: "token-fig", retried: true });
    await expect
      .poll(listEvents, { timeout: 10_000 })
      .toEqual(["create 1", "start 1", "destroy 1", "create 2", "start 2", "destroy 2"]);
  });

  it("is retried after a timeout only if the agent changed nothing", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ sandbox, args: ["--agent-timeout", "8s"] });

    const idle = await ask("code-reviewer", { prompt: "[[fault-once slow-start 600000]][[say: Here.]]" });
    const busy = await ask("code-reviewer", { prompt: "[[append tries: x]][[sleep 60000]]" });

    expect(idle.structuredContent).toMatchObject({ response: "Here.", retried: true });
    expect(toText(busy)).toMatch(/^INDETERMINATE: .*"tries"\. The agent "code-reviewer" did not finish within 8s/);
    expect(busy.structuredContent).toMatchObject({ changedPaths: ["tries"] });
    expect(readFileSync(join(user.workspace, "tries"), "utf8")).toBe("x");
  });

  it("is retried despite changes by others if its own workspace is read-only", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ sandbox, args: ["--agent-timeout", "6s", "--workspace", "ro"] });

    const answering = ask("shell-worker", { prompt: "[[fault-once slow-start 600000]][[say: Here.]]" });
    const writing = setInterval(() => writeFileSync(join(user.workspace, "by-others"), "x"), 100);
    const answer = await answering.finally(() => clearInterval(writing));

    expect(answer.structuredContent).toMatchObject({ response: "Here.", retried: true });
  });
});

/** Creates what a sandbox hides or mounts over, and what a caller has just written. None of it is a change of the agent's. */
function fillWorkspace({ workspace }: BudgieUser): void {
  for (const folder of [".kiro/agents", ".kiro/settings", ".amazonq/cli-agents", "src"]) {
    mkdirSync(join(workspace, folder), { recursive: true });
  }
  writeFileSync(join(workspace, ".amazonq/mcp.json"), "{}");
  writeFileSync(join(workspace, "src/a.ts"), "new");
}

/** Records the engine's events of a session's next turn containers, in order and numbered. */
async function watchTurns(sessionId: unknown): Promise<() => readonly string[]> {
  const docker = await openEngine();
  const filters = { event: ["create", "start", "destroy"], label: [`dev.budgie.session=${String(sessionId)}`] };
  // Records from the start, since the engine keeps only the last 256 events of all containers.
  const stream = (await docker.getEvents({ filters })) as Readable;
  onTestFinished(() => void stream.destroy());
  let text = "";
  stream.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  return () => {
    const events = text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as EngineEvent);
    const turns = events.filter(({ Actor }) => Actor.Attributes["name"]?.startsWith("budgie-turn-"));
    // The container of an earlier turn may only now be removed.
    const ids = turns.filter(({ Action }) => Action === "create").map(({ Actor }) => Actor.ID);
    const next = turns.filter(({ Actor }) => ids.includes(Actor.ID));
    return next.map(({ Action, Actor }) => `${Action} ${ids.indexOf(Actor.ID) + 1}`);
  };
}

type EngineEvent = {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
};
