import { execFile } from "node:child_process";
import { AGENT, IMAGE, PROMPT } from "./bench-place.mjs";

/** Runs a plain `docker run --rm` with the same image, agent and prompt, and the two mounts that the agent needs. */
export function dockerRun({ directory, host }) {
  const mounts = ["-v", `${directory}:/workspace`, "-v", `${host.agentsDir}:/root/.kiro/agents:ro`];
  const run = ["run", "--rm", "-i", "-e", "KIRO_API_KEY=key", "-w", "/workspace", ...mounts, IMAGE];
  const agent = ["kiro-cli", "chat", "--agent", AGENT, "--no-interactive"];
  return new Promise((resolve, reject) => {
    const child = execFile("docker", [...run, ...agent], (error) => (error ? reject(error) : resolve()));
    child.stdin.end(`In directory /workspace, ${PROMPT}\n\nWrite your response to: /root/response.txt\n`);
  });
}
