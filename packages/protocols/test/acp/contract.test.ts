import { createFakeRunner, describeProtocol, PROTOCOL_GAPS, type Task } from "@budgie/testkit";
import type { AgentProcess, Runner } from "@budgie/core";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAcpProtocol } from "../../src/acp/index.ts";
import { AGENT } from "./helpers/run.ts";
import { createScriptedAgent, POLITE, type Script } from "./helpers/scripted-agent.ts";

const TASKS: readonly Task[] = [
  "crash",
  "hang",
  "paint",
  "recall",
  "remember",
  "say much",
  "say nothing",
  "speak",
  "use a denied tool",
  "use a tool",
];

describeProtocol("ACP", {
  prompts: Object.fromEntries(TASKS.map((task) => [task, task])),
  without: PROTOCOL_GAPS.acp,
  async create() {
    const memory = new Map<string, boolean>();
    const live = new Set<AgentProcess>();
    const workspace = mkdtempSync(join(tmpdir(), "budgie-acp-"));
    return {
      agent: AGENT,
      workspace,
      protocol: createAcpProtocol({
        toProgram: () => ({ command: { argv: ["coder-acp"], env: {}, projections: [] }, permission: "deny" }),
      }),
      runner: createScriptedRunner(toScript(memory), live),
      forget: async () => memory.clear(),
      leftovers: async () => [...live].map(() => "a process"),
      async [Symbol.asyncDispose]() {
        rmSync(workspace, { recursive: true });
      },
    };
  },
});

/** Creates a runner whose sessions start a scripted agent. */
function createScriptedRunner(script: Script, live: Set<AgentProcess>): Runner {
  return {
    ...createFakeRunner(() => ({})),
    async openSession(id) {
      const { session } = createScriptedAgent(script);
      return {
        ...session,
        id,
        async start(command, options) {
          const child = await session.start(command, options);
          live.add(child);
          void child.exit.then(() => live.delete(child));
          return child;
        },
      };
    },
  };
}

type Prompt = { readonly sessionId: string; readonly prompt: readonly { readonly text: Task }[] };

const OPTIONS = [{ optionId: "no", name: "No", kind: "reject_once" }];

function toScript(memory: Map<string, boolean>): Script {
  return {
    ...POLITE,
    "session/new": () => {
      const sessionId = `c${memory.size + 1}`;
      memory.set(sessionId, false);
      return { sessionId };
    },
    "session/load": ({ sessionId }: Prompt) => {
      if (!memory.has(sessionId)) throw { code: -32_002, message: "Resource not found" };
      return null;
    },
    async "session/prompt"({ prompt: [content], sessionId }: Prompt, agent) {
      const say = (text: string): void =>
        agent.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }, sessionId);
      const tasks: Readonly<Record<Task, () => unknown>> = {
        crash: () => agent.exit({ exitCode: 3 }, "panic"),
        async hang() {
          say("Working.");
          await agent.notified("session/cancel");
        },
        paint: () => say("\u001B[31mred\u0007\u009B0m"),
        recall: () => say(memory.get(sessionId) === true ? "token-lark" : "I remember nothing."),
        remember() {
          memory.set(sessionId, true);
          say("I will.");
        },
        "say much": () => say("x".repeat(20_000)),
        "say nothing": () => undefined,
        speak: () => say("Answered."),
        async "use a denied tool"() {
          const toolCall = { toolCallId: "t", title: "Write a file" };
          await agent.ask("session/request_permission", { sessionId, toolCall, options: OPTIONS });
          say("I may not.");
        },
        "use a tool"() {
          agent.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Read a file" }, sessionId);
          say("Done.");
        },
      };
      await tasks[content?.text ?? "say nothing"]();
      return { stopReason: "end_turn", usage: { totalTokens: 10 } };
    },
  };
}
