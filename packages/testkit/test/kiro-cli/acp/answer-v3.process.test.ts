import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";
import { startAcp, updatesOf } from "./acp-client.ts";
import { OWN, startV3, toMeta, withWorker } from "./v3-client.ts";

describe("kiro-cli acp of the V3 harness", () => {
  it.each(["--agent=x", "--model=auto", "--effort=low", "--trust-all-tools", "--trust-tools=read"])(
    "refuses %s",
    async (flag) => {
      await using user = await createKiroUser();

      expect(await startAcp(user, [...OWN, flag], { profile: "v3" }).end()).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining("not supported with --agent-engine v3: --"),
      });
    },
  );

  it("says that it is V3, and V2 does not", async () => {
    await using user = await createKiroUser();
    const said: unknown[] = [];
    for (const argv of [OWN, ["--agent-engine", "v2"]]) {
      const client = startAcp(user, argv, { profile: "v3" });
      const { result } = await client.request("initialize", { protocolVersion: 1 });
      said.push(result?.["agentCapabilities"]);
      await client.end();
    }

    expect(said[0]).toMatchObject(toMeta({ extensionMethods: expect.any(Array) }));
    expect(said[1]).not.toHaveProperty("_meta");
  });

  it.each([
    ["v2late", false],
    ["v3", true],
  ] as const)("is what acp of %s starts if no harness is named: %s", async (profile, expected) => {
    await using user = await createKiroUser();
    const client = startAcp(user, [], { profile });
    const { result } = await client.request("initialize", { protocolVersion: 1 });

    expect(JSON.stringify(result).includes("extensionMethods")).toBe(expected);
    await client.end();
  });

  it("reports the user's rules if they are invalid, and the servers that it has", async () => {
    await using user = await createKiroUser();
    await writeFile(join(user.host.home, ".kiro", "settings", "permissions.yaml"), "- capability: shell\n");
    const client = startV3(user);
    const { sessionId } = await client.begin(withWorker());

    expect(await client.until("_kiro/policy/error")).toMatchObject({
      params: {
        sessionId,
        path: expect.stringMatching(/permissions\.yaml$/),
        message: expect.stringContaining("rules"),
      },
    });
    expect(await client.until("_kiro/mcp/status")).toMatchObject({ params: { sessionId, servers: [] } });
    await client.end();
  });

  it("answers as vibe for an unknown mode, at the start and in a prompt, and says so", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);

    const { modes, sessionId } = await client.begin(withWorker({}, "nobody"));
    await client.prompt(sessionId, "[[status]]", toMeta({ modeId: "no-one" }));

    expect(modes).toMatchObject({ currentModeId: "vibe" });
    expect(JSON.parse(client.text())).toMatchObject({ agent: "vibe" });
    const told = client.received.filter(({ method }) => method === "_kiro/customAgent/not_found");
    expect(told.map(({ params }) => params)).toEqual([
      { sessionId, requestedAgent: "nobody", fallbackAgent: "vibe" },
      { sessionId, requestedAgent: "no-one", fallbackAgent: "vibe" },
    ]);
    await client.end();
  });

  it("obeys the mode of each prompt, and only shows one that is set after the first", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const { sessionId } = await client.begin(withWorker());
    const agents: unknown[] = [];
    for (const more of [{}, {}, toMeta({ modeId: "plan" })]) {
      const before = client.text().length;
      await client.prompt(sessionId, "[[status]]", more);
      agents.push((JSON.parse(client.text().slice(before)) as { agent: string }).agent);
      await client.request("session/set_mode", { sessionId, modeId: "vibe" });
    }

    expect(agents).toEqual(["worker", "worker", "plan"]);
    await client.end();
  });

  it("reports its cost with the end of the turn", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const { sessionId } = await client.begin(withWorker());

    await client.prompt(sessionId, "Hi");

    expect(updatesOf(client.received).at(-1)).toEqual({
      sessionUpdate: "session_info_update",
      ...toMeta({ kind: "turn_completion", promptTurnSummaries: [{ unit: "credit", usage: 0.01 }] }),
    });
    await client.end();
  });

  it("loads a conversation with the agents that are sent again, and lists and deletes it", async () => {
    await using user = await createKiroUser();
    const first = startV3(user);
    const { sessionId } = await first.begin(withWorker());
    await first.prompt(sessionId, "Remember token-blue. [[say: I will.]]");
    await first.end();

    const second = startV3(user);
    const place = { cwd: user.work, mcpServers: [] };
    const { result } = await second.request("session/load", { sessionId, ...place, ...withWorker().session });
    await second.prompt(sessionId, "[[recall]]");
    const listed = await second.request("session/list", { cwd: user.work });
    await second.request("session/delete", { sessionId });

    expect(result).toMatchObject({ modes: { currentModeId: "worker" } });
    expect(second.text()).toBe("I will.token-blue");
    expect(listed.result).toEqual({ sessions: [{ sessionId, cwd: user.work }] });
    expect((await second.request("session/list", { cwd: user.work })).result).toEqual({ sessions: [] });
    await second.end();
  });

  it("creates a conversation that it is to load and does not know", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const params = { sessionId: "sess_none", cwd: user.work, mcpServers: [] };

    expect((await client.request("session/load", params)).result).toMatchObject({ modes: { currentModeId: "vibe" } });
    await client.prompt("sess_none", "[[recall]]");
    expect(client.text()).toBe("I remember nothing.");
    await client.end();
  });

  it("runs an agent's hooks only for a client that names them", async () => {
    await using user = await createKiroUser();
    const hooks = { userPromptSubmit: [{ command: "touch fired" }] };
    const file = { name: "guarded", tools: ["*"], hooks, permissions: { rules: [] } };
    await writeFile(join(user.host.agentsDir, "guarded.json"), JSON.stringify(file));
    const seen: string[] = [];
    for (const capabilities of [{}, toMeta({ hooks: { enabled: true, v2: true } })]) {
      const client = startV3(user);
      const { sessionId } = await client.begin({ client: capabilities, session: toMeta({ modeId: "guarded" }) });
      await client.prompt(sessionId, "[[run: ls fired || echo none]]");
      seen.push(client.text());
      await client.end();
    }

    expect(seen).toEqual([expect.stringContaining("none"), "fired"]);
  });

  it("asks its client for a token, unless kiro-cli has the login", async () => {
    await using user = await createKiroUser();
    for (const argv of [OWN, OWN.slice(0, 2)]) {
      const client = startAcp(user, argv, { profile: "v3" });
      await client.begin();
      const asked = client.received.some(({ method }) => method === "_kiro/auth/getAccessToken");
      expect(asked).toBe(argv !== OWN);
      await client.end();
    }
  });

  it("begins no session without a login", async () => {
    await using user = await createKiroUser({ login: false });
    const client = startV3(user);

    await expect(client.begin()).rejects.toThrow("-32000");
    await client.end();
  });

  it("reports throttling, and answers with an error", async () => {
    await using user = await createKiroUser();
    const client = startV3(user);
    const { sessionId } = await client.begin(withWorker());

    const { error } = await client.prompt(sessionId, "[[fault throttle]]");

    expect(error).toMatchObject({ code: -32_603 });
    expect(await client.until("_kiro/error/rate_limit")).toMatchObject({ params: { sessionId } });
    await client.end();
  });
});
