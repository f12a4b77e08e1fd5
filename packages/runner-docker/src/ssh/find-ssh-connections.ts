import { Agent } from "node:http";
import pLimit from "p-limit";
import { openSshConnection, type SshAddress } from "./open-ssh-connection.ts";

// A server with the usual settings begins to refuse from the tenth that has not logged in.
const MOST_OPENING = 4;
// Connections to containers' output leave the pool, so these are calls that are answered soon.
const MOST_CONNECTIONS = 16;
const MOST_IDLE = 4;
const IDLE_LIMIT_MS = 30_000;

const pools = new WeakMap<SshAddress, Agent>();

/** Finds the connections to an engine, which its requests use one after another: each takes longer to make than most requests to answer. */
export function findSshConnections(address: SshAddress): Agent {
  const pool = pools.get(address) ?? createPool(address);
  pools.set(address, pool);
  return pool;
}

function createPool(address: SshAddress): Agent {
  const opening = pLimit(MOST_OPENING);
  const pool = new Agent({
    keepAlive: true,
    maxSockets: MOST_CONNECTIONS,
    maxFreeSockets: MOST_IDLE,
    timeout: IDLE_LIMIT_MS,
  });
  return Object.assign(pool, { createConnection: () => openSshConnection(address, opening) });
}
