import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";
import { startV3, toMeta, withWorker, WORKER } from "./v3-client.ts";

describe("the agents that a client of V3 sends", () => {
  it("runs the agent that its client sends, and says whose it is", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);

    const { modes, sessionId } = await client.begin(withWorker());
    await client.prompt(sessionId, "[[status]]");

    expect(sessionId).toMatch(/^sess_[\w-]{36}$/);
    expect(modes).toEqual({
      currentModeId: "worker",
      availableModes: expect.arrayContaining([
        { id: "worker", name: "worker", ...toMeta({ resource: { source: { origin: "client" } } }) },
        { id: "vibe", name: "vibe", ...toMeta({ resource: { source: { origin: "bundled" } } }) },
      ]),
    });
    expect(JSON.parse(client.text())).toMatchObject({ agent: "worker" });
    await client.end();
  });

  it("takes an agent of the repository in place of one with the same id, and says so", async () => {
    await using user = await createKiroUser();
    await mkdir(join(user.work, ".kiro", "agents"), { recursive: true });
    const file = { name: "worker", tools: ["*"], permissions: { rules: [] } };
    await writeFile(join(user.work, ".kiro", "agents", "worker.json"), JSON.stringify(file));
    const client = startV3(user);

    const { modes } = await client.begin(withWorker());

    expect(modes).toMatchObject({
      currentModeId: "worker",
      availableModes: expect.arrayContaining([
        { id: "worker", name: "worker", ...toMeta({ resource: { source: { origin: "workspace" } } }) },
      ]),
    });
    await client.end();
  });

  it("keeps its own agent in place of one with the same id", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);

    const { modes } = await client.begin(withWorker({ id: "vibe" }, "vibe"));

    expect(JSON.stringify(modes).match(/"id":"vibe"[^]*?"origin":"(\w+)"/)?.[1]).toBe("bundled");
    await client.end();
  });

  it.each([
    ["a prompt in a file", { prompt: "file://worker.md" }],
    ["rules without their object", { permissions: [] }],
    ["an unknown capability", { permissions: { rules: [{ capability: "fly", effect: "allow" }] } }],
    ["tools that are neither a list nor *", { tools: "read" }],
    ["hooks", { hooks: {} }],
  ])("leaves out an agent with %s, and says so", async (_what, field) => {
    await using user = await createKiroUser();
    const client = startV3(user);

    const { modes } = await client.begin(withWorker(field));

    expect(modes).toMatchObject({ currentModeId: "vibe" });
    expect(await client.until("_kiro/customAgent/config_error")).toMatchObject({ params: { path: "worker" } });
    await client.end();
  });

  it("refuses more than 50 agents", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const customAgents = Array.from({ length: 51 }, (_, index) => ({ ...WORKER, id: `worker-${index}` }));

    await expect(client.begin({ session: toMeta({ customAgents }) })).rejects.toThrow("-32602");
    await client.end();
  });

  it("gives no tools to an agent that is sent without", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const { sessionId } = await client.begin(withWorker({ tools: undefined }));

    await client.prompt(sessionId, "[[run: echo out]]");

    expect(client.text()).toBe("I have no tool execute_bash.");
    await client.end();
  });
});
