import { execFile } from "node:child_process";
import { AGENT, IMAGE, PROMPT } from "../lib/bench-place.mjs";

export const COMMAND = ["kiro-cli", "chat", "--agent", AGENT, "--no-interactive"];
// The part of a sandbox's hardening for which the command line has options.
const HARDENED = (
  "--network none --read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 1024 --memory 4g " +
  "--init --log-driver none --tmpfs /tmp --tmpfs /root"
).split(" ");

/** Runs a plain `docker run --rm` with the same image, agent and prompt, and the two mounts that the agent needs. */
export function dockerRun(place) {
  return run("docker", ["run", "--rm", "-i", ...toSettings(place), IMAGE, ...COMMAND], toInput("/root"));
}

/** Runs the same with a sandbox's hardening, and without a network. */
export function hardenedRun(place) {
  return run("docker", ["run", "--rm", "-i", ...HARDENED, ...toSettings(place), IMAGE, ...COMMAND], toInput("/tmp"));
}

const DATA = "/root/.local/share/kiro-cli";

/** Creates turns by the commands of the original design: a volume for each session, and two containers for each turn. */
export function originalDesign(place) {
  const volume = `budgie-bench-${process.pid}`;
  let isMade = false;
  const session = ["-v", `${volume}:${DATA}`];
  place.atEnd(removeVolume);
  async function removeVolume() {
    if (isMade) await run("docker", ["volume", "rm", "-f", volume]);
    isMade = false;
  }
  const followUpTurn = async () => {
    await run("docker", ["run", "--rm", "-i", ...session, ...toSettings(place), IMAGE, ...COMMAND], toInput(DATA));
    const answer = await run("docker", ["run", "--rm", ...session, IMAGE, "cat", `${DATA}/response.txt`]);
    if (!answer.includes("Looks fine.")) throw new Error(`The original design answered: ${answer}`);
  };
  return {
    followUpTurn,
    /** Runs a turn of a new session. Removes the last session's volume before the clock starts. */
    firstTurn: async () => {
      await removeVolume();
      const began = performance.now();
      isMade = true;
      await run("docker", ["volume", "create", volume]);
      await followUpTurn();
      return [performance.now() - began];
    },
  };
}

function toSettings({ directory, host }) {
  const mounts = ["-v", `${directory}:/workspace`, "-v", `${host.agentsDir}:/root/.kiro/agents:ro`];
  return ["-e", "KIRO_API_KEY=key", "-w", "/workspace", ...mounts];
}

/** Returns the agent's stdin. */
export function toInput(folder) {
  return `In directory /workspace, ${PROMPT}\n\nWrite your response to: ${folder}/response.txt\n`;
}

/** Runs a program to its end, and resolves to its output. */
export function run(program, args, input = "") {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin.on("error", () => undefined).end(input);
  });
}
