import { createSessionId, type Agent, type RunnerSession } from "@budgie/core";
import { TurnEvents, type ProtocolAnswer, type ProtocolTurn } from "@budgie/core/protocol";
import { createA2aProtocol, type A2aOptions, type A2aServer } from "../../../src/a2a/index.ts";

export type RunOptions = Partial<Pick<ProtocolTurn, "events" | "prompt" | "resume" | "signal" | "timeoutMs">> &
  Pick<Partial<A2aOptions>, "cancelTimeoutMs" | "lostTimeoutMs" | "startTimeoutMs"> &
  Partial<Pick<A2aServer, "headers" | "namesContext">> & { readonly session?: RunnerSession };

/** Runs a turn with the agent at an address. */
export function run(url: string, options: RunOptions = {}): Promise<ProtocolAnswer> {
  const { cancelTimeoutMs, headers = {}, lostTimeoutMs, namesContext, startTimeoutMs, ...others } = options;
  const { session = createFiles(), ...turn } = others;
  const protocol = createA2aProtocol({
    toServer: () => ({ url, headers, namesContext }),
    cancelTimeoutMs,
    lostTimeoutMs,
    startTimeoutMs,
  });
  return protocol({
    agent: AGENT,
    session,
    directory: "/project",
    prompt: "List the pods",
    resume: false,
    timeoutMs: 60_000,
    signal: undefined,
    events: new TurnEvents(),
    ...turn,
  });
}

/** Creates a session with its home in memory. It can start no process. */
export function createFiles(): RunnerSession & { readonly files: Map<string, string> } {
  const files = new Map<string, string>();
  return {
    files,
    id: createSessionId(),
    paths: () => ({ workspace: "/workspace", home: "/home/agent" }),
    start: () => Promise.reject(new Error("An agent elsewhere starts nothing.")),
    readFile: async (name) => files.get(name),
    appendFile: async (name, text) => void files.set(name, (files.get(name) ?? "") + text),
    remove: async () => files.clear(),
  };
}

export const AGENT: Agent = {
  name: "k8s",
  description: "Knows the cluster.",
  whenToUse: "",
  file: "/nowhere/k8s.json",
  promptFile: undefined,
  writesFiles: false,
  model: undefined,
  hasModel: false,
};
