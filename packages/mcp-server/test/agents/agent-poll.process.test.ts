import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("polling agents keeps no process alive", async () => {
  const source = fileURLToPath(new URL("../../dist/agents/agent-poll.js", import.meta.url));
  const program = `
    const { createAgentPoll } = await import(${JSON.stringify(source)});
    createAgentPoll({ hasChanged: () => true, onChange() {}, report() {}, intervalMs: 10 }).start();
    setTimeout(() => console.log("polled"), 500);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    timeout: 20_000,
  });

  expect(stdout).toBe("polled\n");
});
