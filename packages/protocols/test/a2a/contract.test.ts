import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeRunner, describeProtocol, PROTOCOL_GAPS, startKagentServer } from "@budgie/testkit";
import { createA2aProtocol } from "../../src/a2a/index.ts";
import { AGENT, createFiles } from "./helpers/run.ts";

describeProtocol("A2A 1.0", toSetup("1.0", "CancelTask"));
describeProtocol("A2A 0.3", toSetup("0.3", "tasks/cancel"));

function toSetup(version: "0.3" | "1.0", cancel: string): Parameters<typeof describeProtocol>[1] {
  return {
    prompts: {
      crash: "[[crash]]",
      hang: "[[wait]]",
      paint: "[[paint]]",
      recall: "again",
      remember: "token-lark",
      "say much": "x".repeat(20_000),
      "say nothing": "[[nothing]]",
      speak: "Answered.",
      "use a tool": "pods",
    },
    without: PROTOCOL_GAPS.a2a,
    async create() {
      const server = await startKagentServer({ version });
      const workspace = mkdtempSync(join(tmpdir(), "budgie-a2a-"));
      return {
        agent: { ...AGENT, remote: { url: server.url, headers: {}, allowRemote: false } },
        workspace,
        protocol: createA2aProtocol({ toServer: () => ({ url: server.agentUrl("k8s-agent"), headers: {} }) }),
        runner: {
          ...createFakeRunner(() => ({})),
          isolation: "remote",
          openSession: async (id) => ({ ...createFiles(), id }),
        },
        forget: () => Promise.reject(new Error("Nothing is asked of a server that forgets.")),
        leftovers: async () => (server.calls.length === 1 || server.calls.at(-1) === cancel ? [] : ["a task"]),
        async [Symbol.asyncDispose]() {
          await server[Symbol.asyncDispose]();
          rmSync(workspace, { recursive: true });
        },
      };
    },
  };
}
