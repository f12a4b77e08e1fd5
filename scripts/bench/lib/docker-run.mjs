import { execFile } from "node:child_process";
import { AGENT, IMAGE, PROMPT } from "./bench-place.mjs";

/** A plain `docker run --rm`: the same image, agent and prompt, with the two mounts that the agent cannot do without. */
export function dockerRun({ directory, host }) {
  const mounts = ["-v", `${directory}:/workspace`, "-v", `${host.agentsDir}:/root/.kiro/agents:ro`];
  const run = ["run", "--rm", "-i", "-e", "KIRO_API_KEY=key", "-w", "/workspace", ...mounts, IMAGE];
  const agent = ["kiro-cli", "chat", "--agent", AGENT, "--no-interactive"];
  return new Promise((resolve, reject) => {
    const child = execFile("docker", [...run, ...agent], (error) => (error ? reject(error) : resolve()));
    child.stdin.end(`In directory /workspace, ${PROMPT}\n\nWrite your response to: /root/response.txt\n`);
  });
}
