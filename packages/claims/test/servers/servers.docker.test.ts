import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLAIM_GROUPS, type ServeAgents } from "@budgie/claims";
import type { SandboxService } from "@budgie/core";
import { inCarelessLab } from "../helpers/careless.ts";
import { behind, describeClaims, SERVE_AGENTS, type Control } from "../helpers/describe-claims.ts";
import { createRewritingEngine, type CreateBody } from "../helpers/rewriting-engine.ts";
import { serveNaively } from "./serve-naively.ts";

const AGENT_FILE = /\.kiro\/agents\/[^/]+$/;

type AgentJson = { readonly mcpServers: Readonly<Record<string, { readonly env?: Readonly<Record<string, string>> }>> };

/** Shows agents their own files, and gives their containers the variables of the servers that these name. */
const withEntries: Control = async (claim) => {
  await using engine = await createRewritingEngine(async (body) => {
    body.Env = [...(body.Env ?? []), ...toVariables(body)];
  });
  return await inCarelessLab(() => ({}), { serveAgents: (protocol) => protocol, ...behind(engine) })(claim);
};

function toVariables({ HostConfig }: CreateBody): readonly string[] {
  const file = HostConfig.Mounts?.find(({ Target }) => AGENT_FILE.test(Target))?.Source;
  if (file === undefined) return [];
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8")) as AgentJson;
  return Object.values(mcpServers ?? {}).flatMap(({ env = {} }) =>
    Object.entries(env).map(([name, value]) => `${name}=${value}`),
  );
}

/** Allows every tool of every server, in the configuration and in the agent's file. */
const allowAll: ServeAgents = (protocol, place) => {
  const { agents } = JSON.parse(readFileSync(place.configFile, "utf8")) as { readonly agents: object };
  const mcp = { shell: {}, hidden: {}, far: {}, login: {} };
  const sections = Object.keys(agents).map((name) => [name, { mcp }]);
  writeFileSync(place.configFile, JSON.stringify({ agents: Object.fromEntries(sections) }));
  const serve = SERVE_AGENTS(protocol, place);
  return (turn) => {
    const { file } = turn.agent;
    const { mcpServers } = JSON.parse(readFileSync(file, "utf8")) as AgentJson;
    const open = Object.entries(mcpServers).map(([name, entry]) => [name, { ...entry, disabledTools: [] }]);
    const lists = { tools: ["@*"], allowedTools: ["@*"] };
    writeFileSync(file, JSON.stringify({ ...lists, mcpServers: Object.fromEntries(open) }));
    return serve(turn);
  };
};

/** Answers every request of any session, with any path and method, by the server at that path, else by the session's own. */
function createOpenServing(): ServeAgents {
  const services = new Map<string, SandboxService>();
  return (protocol, place) => {
    let own: SandboxService | undefined;
    let path = "";
    const serve = SERVE_AGENTS((turn) => {
      path = /"url": "http:\/\/[^"/]+(\/[^"]+\/shell)"/.exec(readFileSync(turn.agent.shown ?? "", "utf8"))?.[1] ?? "";
      if (own !== undefined) services.set(path, own);
      return protocol(turn);
    }, place);
    return (turn) => {
      const { session } = turn;
      const serveAll = (service: SandboxService): string => {
        own = service;
        const answer: SandboxService["answer"] = (request, response) => {
          const other = services.get(request.url ?? "");
          if (other === undefined) request.url = path;
          request.method = "POST";
          (other ?? service).answer(request, response);
        };
        return session.serve?.({ ...service, answer }) ?? "";
      };
      return serve({ ...turn, session: { ...session, serve: serveAll } });
    };
  };
}

/** Runs agents once before their servers start, so that a control can show the servers something of their agent. */
const serveLate: ServeAgents = (protocol, place) => {
  const serve = SERVE_AGENTS(protocol, place);
  let ran: Promise<unknown> | undefined;
  return async (turn) => {
    await (ran ??= protocol({ ...turn, prompt: JSON.stringify(["/bin/true"]) }));
    return serve(turn);
  };
};

/** Creates a control that changes the containers of servers. `agent` is the session of the agent that started last. */
function aroundServers(change: (body: CreateBody, agent: string) => void): Control {
  return async (claim) => {
    let agent = "";
    await using engine = await createRewritingEngine(async (body) => {
      const isAgents = body.HostConfig.Mounts?.some(({ Target }) => AGENT_FILE.test(Target)) === true;
      if (isAgents) agent = body.Labels["dev.budgie.session"] ?? "";
      else change(body, agent);
    });
    return await inCarelessLab(() => ({}), { serveAgents: serveLate, ...behind(engine) })(claim);
  };
}

/** Mounts the lab's folder and an agent's home, and makes all mounts writable. */
const showAll = aroundServers(({ HostConfig }, agent) => {
  const passwd = HostConfig.Mounts?.find(({ Target }) => Target === "/etc/passwd")?.Source ?? "";
  const root = join(passwd, "../../..");
  const home = `budgie-session-${agent}`;
  HostConfig.Mounts?.push(
    { Type: "bind", Source: root, Target: root },
    { Type: "volume", Source: home, Target: `/${home}` },
  );
  for (const mount of HostConfig.Mounts ?? []) mount.ReadOnly = false;
});

const joinAgent = aroundServers((body, agent) => joinNetwork(body, `container:budgie-session-${agent}`));

const joinHost = aroundServers((body) => joinNetwork(body, "host"));

/** Joins a network, in which another forwarder may listen. */
function joinNetwork(body: CreateBody, network: string): void {
  body.HostConfig.NetworkMode = network;
  const command = body.Entrypoint as readonly string[];
  body.Entrypoint = command.slice(command.indexOf("/bin/sh"));
}

describeClaims(CLAIM_GROUPS.servers, {
  controls: {
    "no-server-secrets": withEntries,
    "only-allowed-tools": inCarelessLab(() => ({}), { serveAgents: allowAll }),
    "own-servers": inCarelessLab(() => ({}), { serveAgents: createOpenServing() }),
    "server-files": showAll,
    "server-network": joinAgent,
    "server-proxy": showAll,
    "server-host": joinHost,
    "bounded-servers": inCarelessLab(() => ({}), { serveAgents: serveNaively }),
  },
});
