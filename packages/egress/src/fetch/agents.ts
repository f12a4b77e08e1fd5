import { Agent as PlainAgent, type ClientRequestArgs } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Connector } from "./connector.ts";

// Shorter than the idle timeout of most servers, since a request on a connection that the server closes would be lost.
const IDLE_MS = 4_000;

/** Creates HTTP agents for Node's requests that get their connections from a connector. */
export function createAgents(connect: Connector): { readonly plain: PlainAgent; readonly secure: SecureAgent } {
  const options = { keepAlive: true, timeout: IDLE_MS };
  return {
    plain: connecting(new PlainAgent(options), connect),
    secure: connecting(new SecureAgent(options), async (target) => {
      const { host } = target;
      const socket = await connect(target);
      const name = isIP(host) === 0 ? { servername: host } : {};
      return connectTls({ socket, host, ALPNProtocols: ["http/1.1"], ...name });
    }),
  };
}

type Created = (error: Error | null, socket?: Socket) => void;

function connecting<Agent extends PlainAgent>(agent: Agent, connect: Connector): Agent {
  const createConnection = ({ host, port }: ClientRequestArgs, created: Created): void => {
    connect({ host: (host ?? "").replace(/\.$/, ""), port: Number(port) }).then(
      (socket) => created(null, socket),
      (error: Error) => created(error),
    );
  };
  return Object.assign(agent, { createConnection });
}
