import type { Protocol } from "@budgie/core/protocol";
import { createSessionStore } from "@budgie/core/sessions";
import { Turn } from "@budgie/core/turn";
import { createFakeRunner } from "@budgie/testkit";
import { AGENT } from "./agent.ts";

const NO_PROTOCOL: Protocol = () => Promise.reject(new TypeError("No agent is asked here."));

/** Creates a turn that has passed the steps up to `openSession`. */
export async function createTurn({ directory = import.meta.dirname, ...parts }: TurnParts = {}): Promise<Turn> {
  const turn = new Turn({ agent: AGENT.name, prompt: "x", directory }, {});
  const runner = createFakeRunner(() => ({}));
  const policy = { workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {}, timeoutMs: 1000 } as const;
  turn.request = { agent: AGENT, prompt: "x", promptBytes: 1, policy, directory, sessionId: undefined };
  turn.route = { runner, protocol: NO_PROTOCOL };
  turn.session = await createSessionStore(runner).open({ agent: AGENT.name, directory });
  return Object.assign(turn, parts);
}

type TurnParts = Partial<Pick<Turn, "processes" | "signal">> & { readonly directory?: string };
