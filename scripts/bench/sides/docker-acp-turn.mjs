import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const CA = "/ca.pem";

/** Runs one turn of an ACP agent in a plain `docker run --rm`, from its start to its end. */
export async function dockerAcpTurn({ directory, image, llm, prompt, script }) {
  const model = ["--network", "host", "--add-host", "llm.test:127.0.0.1", "-v", `${llm.caFile}:${CA}:ro`];
  const place = ["-v", `${directory}:/workspace`, "-w", "/workspace", "-e", `SSL_CERT_FILE=${CA}`, "-e", "HOME=/root"];
  const child = spawn("docker", ["run", "--rm", "-i", "--init", ...model, ...place, image, "sh", "-c", script], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  const ask = createAsker(child);
  await ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ask("session/new", { cwd: "/workspace", mcpServers: [] });
  const { stopReason } = await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] });
  if (stopReason !== "end_turn") throw new Error(`The agent ended its turn with "${stopReason}".`);
  // Codex does not end with its input, so docker forwards a signal to it.
  child.kill("SIGTERM");
  await exited;
}

/** Returns a function that sends a request, and resolves to its result. */
function createAsker({ stdin, stdout }) {
  const waiting = new Map();
  const lines = createInterface({ input: stdout });
  lines.on("line", (line) => {
    const { error, id, result } = JSON.parse(line);
    if (error) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result);
  });
  lines.on("close", () => waiting.forEach(({ reject }) => reject(new Error("The agent ended."))));
  return (method, params) =>
    new Promise((resolve, reject) => {
      const id = waiting.size;
      waiting.set(id, { resolve, reject });
      stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
}
