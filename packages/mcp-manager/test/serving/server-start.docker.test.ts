import { homedir } from "node:os";
import { expect, it } from "vitest";
import { openEngineProxy } from "../../../../scripts/bench/lib/engine-proxy.mjs";
import { connectEngine } from "../../../runner-docker/src/engine/engine.ts";
import { createBudgieUser, toText } from "../../../cli/test/helpers/start-budgie.ts";
import { toShellServer } from "./shell-server.ts";
import { beginSession, startCoder } from "./start-coder.ts";

it.each([
  ["without a network", {}],
  ["with an allowed host", { allowHost: ["allowed.test"] }],
])(
  "an agent waits for no container of its server %s, which adds one start of a container to its session",
  async (_, section) => {
    await using user = await createBudgieUser();
    await using engine = await holdServers();
    const { ask } = await startCoder(user, {
      mcpServers: { shell: toShellServer() },
      mcp: { shell: section },
      // Makes nothing ahead, so that only what turns need is started.
      args: ["--ahead", "0"],
      env: { DOCKER_HOST: engine.url },
    });

    const sessionId = await beginSession({ ask });
    const called = await ask("coder", { prompt: '[[tool @shell/sh: {"script":"echo called"}]]', sessionId });

    expect(toText(called)).toContain("called");
    expect(engine.started().filter(({ owner }) => owner === "server")).toEqual([{ owner: "server", role: "turn" }]);
  },
);

const CREATE = /^POST \S*\/containers\/create\?name=budgie-(session|turn)-([0-9a-f]{8})/;
const START = /^POST \S*\/containers\/([^/]+)\/start/;

type Own = { readonly owner: "agent" | "server"; readonly role: string };

/** Opens a socket to the engine. It holds back containers of all sessions but the first, the agent's, until the agent's turn starts. */
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

  function release(): void {
    isHeld = false;
    for (const pass of held.splice(0)) pass();
  }

  const { close, url } = await openEngineProxy(await connectEngine(process.env, homedir()), (client, engine) => {
    let created: Own | undefined;
    client.on("data", (chunk) => {
      const request = chunk.toString("latin1");
      const [, id = ""] = START.exec(request) ?? [];
      const own = byId.get(id);
      if (own !== undefined) started.push(own);
      if (own?.owner === "agent" && own.role === "turn") release();
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
  });
  return {
    url,
    started: (): readonly Own[] => started,
    [Symbol.asyncDispose]: close,
  };
}
