import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openEngineProxy } from "../../../../scripts/bench/lib/engine-proxy.mjs";
import { connectEngine } from "../../../runner-docker/src/engine/engine.ts";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { toShellServer } from "./shell-server.ts";

it.each([
  ["without a network", {}],
  ["with an allowed host", { allowHost: ["allowed.test"] }],
])(
  "an agent waits for no container of its server %s, which adds one start of a container to its session",
  async (_, section) => {
    await using user = await createBudgieUser();
    await using engine = await holdServers();
    const { ask } = await start(user, engine.url, section);

    const first = await ask("coder", { prompt: "[[say: first]]" });
    const { sessionId } = first.structuredContent ?? {};
    engine.release();
    const call = '[[tool @shell/sh: {"script":"echo called"}]]';
    await waitFor(async () => toText(await ask("coder", { prompt: call, sessionId })).includes("called"), 60_000);

    expect(toText(first)).toBe("first");
    expect(first.structuredContent).toMatchObject({ mcpServers: [{ name: "shell", state: "initializing" }] });
    expect(engine.started().filter(({ owner }) => owner === "server")).toEqual([{ owner: "server", role: "turn" }]);
  },
);

/** Starts budgie on an engine with an agent that has a server. It makes nothing ahead, so that it starts only what turns need. */
async function start(user: BudgieUser, engine: string, section: object) {
  const agent = {
    name: "coder",
    description: "sub-agent: Codes.",
    tools: ["*"],
    mcpServers: { shell: toShellServer() },
  };
  writeFileSync(join(user.host.agentsDir, "coder.json"), JSON.stringify(agent));
  const config = join(user.host.home, "budgie.json");
  writeFileSync(config, JSON.stringify({ agents: { coder: { mcp: { shell: section } } } }));
  const args = ["--config", config, "--trust-all-tools", "--ahead", "0"];
  return user.start({ sandbox: true, args, env: { DOCKER_HOST: engine } });
}

const CREATE = /^POST \S*\/containers\/create\?name=budgie-(session|turn)-([0-9a-f]{8})/;
const START = /^POST \S*\/containers\/([^/]+)\/start/;

type Own = { readonly owner: "agent" | "server"; readonly role: string };

/** Opens a socket to the engine that holds back the containers of every session but the first, the agent's, until they are released. */
async function holdServers() {
  const byId = new Map<string, Own>();
  const started: Own[] = [];
  const held: (() => void)[] = [];
  let agents: string | undefined;
  let isHeld = true;

  function toOwn(request: string): Own | undefined {
    const [, role = "", session] = CREATE.exec(request) ?? [];
    if (session === undefined) return undefined;
    agents ??= session;
    return { role, owner: session === agents ? "agent" : "server" };
  }

  const { close, url } = await openEngineProxy(await connectEngine(process.env, homedir()), (client, engine) => {
    let created: Own | undefined;
    client.on("data", (chunk) => {
      const request = chunk.toString("latin1");
      const [, id = ""] = START.exec(request) ?? [];
      const own = byId.get(id);
      if (own !== undefined) started.push(own);
      created = toOwn(request);
      const pass = (): void => void engine.write(chunk);
      if (isHeld && created?.owner === "server") held.push(pass);
      else pass();
    });
    engine.on("data", (chunk) => {
      const [, id] = /"Id":"([0-9a-f]+)"/.exec(chunk.toString("latin1")) ?? [];
      if (created !== undefined && id !== undefined) byId.set(id, created);
      client.write(chunk);
    });
    client.on("end", () => engine.end()).on("close", () => engine.destroy());
    engine.on("end", () => client.end()).on("close", () => client.destroy());
  });
  return {
    url,
    started: (): readonly Own[] => started,
    release() {
      isHeld = false;
      for (const pass of held) pass();
    },
    [Symbol.asyncDispose]: close,
  };
}
