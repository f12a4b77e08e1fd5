import type { KiroUser } from "../run-kiro-cli.ts";
import { startAcp, type AcpClient } from "./acp-client.ts";

/** The arguments of V3 whose login is that of `kiro-cli` */
export const OWN = ["--agent-engine", "v3", "--auth-method", "cli"];

export const WORKER = {
  id: "worker",
  description: "Works",
  prompt: "You work.",
  tools: ["read", "write", "shell"],
};

/** Returns what is Kiro's own in a message. */
export const toMeta = (kiro: object) => ({ _meta: { kiro } });

/** Returns the session of an agent that the client sends. */
export const withWorker = (more: object = {}, modeId = "worker") => ({
  session: toMeta({ modeId, customAgents: [{ ...WORKER, ...more }] }),
});

/** Starts `kiro-cli acp` of V3. */
export function startV3(user: KiroUser, permission = "allow_once"): AcpClient {
  return startAcp(user, OWN, { profile: "v3", permission });
}
