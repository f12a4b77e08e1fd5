import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import { toText, waitFor } from "../helpers/start-budgie.ts";
import { startHttpBudgie } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { endInTime } from "./helpers/end-in-time.ts";
import type { Fault } from "./fault.ts";
import { PATIENCE_MS } from "./helpers/fault-place.ts";
import { startSilentNameServer } from "./helpers/silent-name-server.ts";

const SESSIONS = ["one", "two"];
const IDLE_CONNECTIONS = 600;

/** Faults of name servers, and of clients on the HTTP port. */
export const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: "two sessions request names that never resolve when budgie gets SIGTERM",
    on: "engine",
    async inject({ user }) {
      await using names = await startSilentNameServer();
      const args = ["--allow-host", "*.silent.example"];
      const asking = await user.start({ sandbox: true, args, env: names.variables });
      const calls = SESSIONS.map((word) => asking.ask("shell-worker", { prompt: `[[run: ${toQuestions(word)}]]` }));
      const told = Promise.allSettled(calls);
      const isAsked = (word: string): boolean => [...names.asked].some((name) => name.startsWith(`${word}-`));
      await waitFor(() => SESSIONS.every(isAsked), PATIENCE_MS);
      await endInTime(asking);
      for (const call of await told) {
        expect(call.status === "fulfilled" && toText(call.value)).toMatch(/^CANCELLED: /);
      }
    },
  },
  {
    name: "600 connections without the token are open when budgie gets SIGTERM",
    on: "no sandbox",
    async inject({ user }) {
      await using listening = await startHttpBudgie(user);
      const connections = await Promise.all(Array.from({ length: IDLE_CONNECTIONS }, () => openIdle(listening.url)));
      const { ask } = await listening.connect();
      expect(toText(await ask("code-reviewer", { prompt: "[[say: answered]]" }))).toContain("answered");
      const ended = once(listening.child, "close").then(([exitCode]: unknown[]) => ({ exitCode }));
      await endInTime({ child: listening.child, ended });
      for (const connection of connections) connection.destroy();
    },
  },
];

/** Returns a shell command that requests more names than the proxy resolves for a session at once. */
function toQuestions(word: string): string {
  const ask = `printf 'CONNECT ${word}-%s.silent.example:443 HTTP/1.1\\r\\n\\r\\n' $i >&$wire`;
  return `bash -c 'for i in $(seq 8); do exec {wire}<>/dev/tcp/127.0.0.1/3128; ${ask.replaceAll("'", '"')}; done; sleep 60'`;
}

async function openIdle({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect");
  socket.write("POST /mcp HTTP/1.1\r\n");
  return socket;
}
