import { describe, expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";
import { updatesOf } from "./acp-client.ts";
import { startV3, withWorker } from "./v3-client.ts";

describe("the options of a session of V3", () => {
  it("asks for nothing on autopilot, which is on, and obeys the client without it", async () => {
    await using user = await createKiroUser();
    const client = startV3(user, "reject_once");
    const { sessionId } = await client.begin(withWorker());
    const said: string[] = [];
    for (const _ of ["on", "off"]) {
      const before = client.text().length;
      await client.prompt(sessionId, "[[run: echo out]]");
      said.push(client.text().slice(before));
      await client.request("session/set_config_option", { sessionId, configId: "autopilot", value: "off" });
    }

    expect(said).toEqual(["out", "I was not allowed to use execute_bash."]);
    const asked = client.received.filter(({ method }) => method === "session/request_permission");
    expect(asked).toMatchObject([{ params: { toolCall: { title: "Running command: echo out", kind: "execute" } } }]);
    await client.end();
  });

  it.each([
    { effects: ["allow", "ask", "deny"], asked: [], said: "I was not allowed to use execute_bash." },
    { effects: ["allow", "ask"], asked: ["session/request_permission"], said: "out" },
    { effects: ["allow"], asked: [], said: "out" },
  ])("obeys the strictest rule of $effects", async ({ asked, effects, said }) => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const rules = effects.map((effect) => ({ capability: "shell", match: ["echo *"], effect }));
    const { sessionId } = await client.begin(withWorker({ permissions: { rules } }));
    await client.request("session/set_config_option", { sessionId, configId: "autopilot", value: "off" });

    await client.prompt(sessionId, "[[run: echo out]]");

    expect(client.text()).toBe(said);
    const requests = client.received.filter(({ method }) => method === "session/request_permission");
    expect(requests.map(({ method }) => method)).toEqual(asked);
    await client.end();
  });

  it("takes its model as an option, which it offers after its answer", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const { configOptions, sessionId } = await client.begin(withWorker());
    const byMethod = await client.request("session/set_model", { sessionId, modelId: "claude-opus-4" });
    await client.request("session/set_config_option", { sessionId, configId: "model", value: "claude-opus-4" });
    await client.prompt(sessionId, "[[status]]");

    expect(JSON.stringify(configOptions)).not.toContain('"id":"model"');
    expect(updatesOf(client.received)[0]).toMatchObject({
      sessionUpdate: "config_option_update",
      configOptions: expect.arrayContaining([expect.objectContaining({ id: "model", currentValue: "auto" })]),
    });
    expect(byMethod.error).toMatchObject({ code: -32_601 });
    expect(JSON.parse(client.text())).toMatchObject({ model: "claude-opus-4" });
    await client.request("session/set_config_option", { sessionId, configId: "model", value: "no-such" });
    expect((await client.prompt(sessionId, "Hi")).error).toMatchObject({ data: "Model 'no-such' does not exist." });
    await client.end();
  });
});
