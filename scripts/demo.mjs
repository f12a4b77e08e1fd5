// Demonstrates a user's session with budgie on the terminal and checks each promise. Exits with 1 if one is broken.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createHostHome } from "../packages/testkit/dist/index.js";
import { startBudgie } from "./lib/budgie-client.mjs";
import { listTraces, openEngine } from "./lib/engine.mjs";
import { check, checkSandbox, failures, quote, say } from "./lib/story.mjs";
import { createSampleRepository } from "./lib/sample-repository.mjs";

const { docker, endpoint } = await openEngine();
const host = await createHostHome();
const repository = await createSampleRepository();
try {
  await runDemo();
} finally {
  await host[Symbol.asyncDispose]();
  await repository.remove();
}
process.exitCode = failures() === 0 ? 0 : 1;
say(failures() === 0 ? "All checks passed." : `Checks failed: ${failures()}.`);

async function runDemo() {
  const budgie = await startBudgie(host, endpoint);
  let instance;
  try {
    await listTools(budgie);
    const session = await holdConversation(budgie);
    await lookAround(budgie);
    const traces = await listTraces(docker);
    instance = traces.find((trace) => trace.session === session)?.instance;
    check(
      instance !== undefined,
      `The engine now holds ${countOf(traces, instance)} containers and volumes of this budgie`,
    );
  } catch (error) {
    console.error(budgie.stderr());
    throw error;
  } finally {
    await budgie.quit();
  }
  say("The client quits.");
  const left = countOf(await listTraces(docker), instance);
  check(left === 0, `${left} of its containers and volumes are left`);
}

// Counts only this budgie's, because others may use the engine too.
function countOf(traces, instance) {
  return traces.filter((trace) => trace.instance === instance).length;
}

async function listTools(budgie) {
  say("An MCP client starts budgie --sandbox and asks for its tools.");
  const tools = await budgie.listTools();
  for (const { name, description } of tools) quote(`${name}: ${description.split("\n")[0]}`);
  check(
    tools.some(({ name }) => name === "kiro-subagents.code-reviewer"),
    "The agents of the user's home are tools",
  );
  check(!tools.some(({ name }) => name.includes("orchestrator")), "The orchestrator is not one of them");
}

async function holdConversation({ ask }) {
  const directory = repository.path;
  say(`It asks for a review of "${directory}".`);
  const first = await ask("code-reviewer", {
    directory,
    prompt: "Review this repository, and remember the word token-parakeet. [[read login.js]]",
  });
  quote(first.response);
  check(first.response.includes(repository.bug), "The agent read the repository");
  check(first.isolation === "container", "It ran in a container");

  say(`It resumes the same session, ${first.sessionId}.`);
  const { sessionId } = first;
  const second = await ask("code-reviewer", { directory, sessionId, prompt: "Which word was it? [[recall]]" });
  quote(second.response);
  check(second.response.includes("token-parakeet"), "The agent remembers the first turn");

  say("It asks the same question in a new session.");
  const other = await ask("code-reviewer", { directory, prompt: "Which word was it? [[recall]]" });
  quote(other.response);
  check(!other.response.includes("token-"), "Another session knows neither that word nor the host's conversations");
  return sessionId;
}

async function lookAround({ ask }) {
  say("Another agent, which may run commands, looks around in its sandbox.");
  await checkSandbox(ask, host, repository.path);
  const note = join(repository.path, "note.txt");
  const { uid } = await stat(note);
  check((await readFile(note, "utf8")) === "from the sandbox\n", "What it wrote to /workspace is in the repository");
  check(uid === process.getuid(), `The new file belongs to the user, uid ${uid}`);
}
