import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { createPodCopy } from "../../src/files/create-pod-copy.ts";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { askPod } from "../../src/session/ask-pod.ts";
import { keepConnected } from "../../src/session/keep-connected.ts";
import { createPodProcesses } from "../../src/session/pod-processes.ts";
import { openExec, type Wire, type WireStream } from "../../src/wire/index.ts";
import { toLivePod } from "../files/to-live-pod.ts";
import { serveBridge, type Boundary } from "../faults/cut-exec.ts";
import { startFakeCluster } from "../helpers/fake-cluster.ts";
import type { FakeHold } from "../helpers/fake-hold.ts";
import { greet, runSidecar, type RunningSidecar } from "../helpers/run-sidecar.ts";

const POD = { namespace: "sandboxes", pod: "budgie-1", container: "budgie", command: ["hold", "bridge"] };
const ORDER: ProcessOrder = {
  argv: ["agent"],
  env: { TOKEN: "secret" },
  unset: [],
  directory: "/workspace",
  ports: [],
  isReadOnly: false,
  limits: { pids: 64, diskBytes: 2 ** 30 },
};
const FILE = "file ".repeat(20_000);
const PROMPT = "prompt ".repeat(12_000);
const OUTPUT = Buffer.from("output ".repeat(30_000));
const AT_ONCE = 8;

it.each(["toPod", "toBudgie"] as const)(
  "a turn is the same at both ends if its exec breaks at any boundary of frames that it sends %s",
  async (direction) => {
    const whole = await runTurn();
    expect(whole).toMatchObject({
      cuts: 0,
      seen: { exit: { exitCode: 3 }, hasFile: true, hasPrompt: true, isWhole: true, ranTwice: false },
    });
    let boundaries = 0;
    for (let isCut = true; isCut; boundaries += AT_ONCE) {
      const next = Array.from({ length: AT_ONCE }, (_, index) => ({ direction, frames: boundaries + index }));
      const turns = await Promise.all(next.map(runTurn));
      expect(turns.map(({ seen }) => seen)).toEqual(next.map(() => whole.seen));
      // A turn that has fewer frames was not cut.
      isCut = turns.every(({ cuts }) => cuts === 1);
    }
    expect(boundaries).toBeGreaterThan(2 * AT_ONCE);
  },
  120_000,
);

/** Runs a turn of a session with all that surrounds it, in a sidecar that is reached by execs of a fake API server. The first may break. */
async function runTurn(boundary?: Boundary) {
  const running = await runSidecar();
  const { roots } = running;
  const hold = await running.connectHold();
  greet(hold);
  let execs = 0;
  let cuts = 0;
  await using cluster = await startFakeCluster({
    onExec: (exec) =>
      serveBridge(exec, roots.wireSocket, {
        boundary: (execs += 1) === 1 ? boundary : undefined,
        onCut: () => (cuts += 1),
      }),
  });
  const processes = createPodProcesses();
  const connections: string[] = [];
  const wire = await keepConnected(
    {
      openBridge: (signal) => openExec({ ...POD, server: cluster.server, signal }),
      onStream: (stream) =>
        stream.opening.purpose === "egress" ? void answer(stream, connections) : processes.takeStderr(stream),
    },
    new AbortController().signal,
  );
  const agent = playAgent(hold, running);
  const budgie = await playBudgie(wire, processes);
  const login = readFileSync(join(roots.auth, "login"), "utf8");
  const agents = await agent;
  const second = hold.hear("S").then(
    () => true,
    () => false,
  );
  wire.close();
  await running[Symbol.asyncDispose]();
  return { cuts, seen: { ...budgie, ...agents, connections, login, ranTwice: await second } };
}

/** Asks all that budgie asks of a Pod in a turn. */
async function playBudgie(wire: Wire, processes: ReturnType<typeof createPodProcesses>) {
  const { pod } = toLivePod(wire);
  const hello = await askPod(wire, { purpose: "control", ask: "hello" });
  const copy = createPodCopy({ session: createSessionId(), openPod: async () => pod });
  await copy.fill(
    (async function* (): AsyncGenerator<FilledEntry> {
      yield {
        entry: { path: "file", kind: "file", mode: 0o644, size: FILE.length },
        content: Buffer.from(FILE),
        mtimeMs: 0,
      };
    })(),
  );
  await createPodHome(async () => wire).write([{ path: "/auth/login", mode: 0o600, content: Buffer.from("a login") }]);
  const child = await processes.start(pod, { order: ORDER, input: PROMPT });
  const [output, warning, exit] = await Promise.all([buffer(child.stdout), text(child.stderr), child.exit]);
  const files: string[] = [];
  for await (const { content, entry } of copy.read()) {
    files.push(`${entry.path}: ${content === undefined ? "" : await text(content)}`);
  }
  const { homeBytes } = await askPod(wire, { purpose: "control", ask: "usage" });
  return { hello, isWhole: output.equals(OUTPUT), warning, exit, files: files.toSorted(), homeBytes };
}

/** Does what an agent does in a turn, and tells what it got. */
async function playAgent(hold: FakeHold, { roots, sidecar }: RunningSidecar) {
  await hold.hear("S");
  hold.say("P");
  const prompt: Buffer[] = [];
  for (let piece = await hold.hear("I"); piece.length > 0; piece = await hold.hear("I")) {
    prompt.push(piece);
    hold.say("U", [piece.length]);
  }
  const file = readFileSync(join(roots.tree, "file"), "utf8");
  writeFileSync(join(roots.tree, "answer"), "an answer");
  mkdirSync(join(roots.home, "agent"), { recursive: true });
  const socket = connect(sidecar.egressPort, "127.0.0.1");
  socket.end("GET /");
  const reply = await text(socket);
  hold.say("R", Buffer.from("a warning"));
  for (let at = 0; at < OUTPUT.length; at += 30_000) hold.say("O", OUTPUT.subarray(at, at + 30_000));
  hold.say("E", [3, 0, 0]);
  return { hasFile: file === FILE, hasPrompt: String(Buffer.concat(prompt)) === PROMPT, reply };
}

/** Answers a connection of the agent. */
async function answer({ end, input, output }: WireStream, connections: string[]): Promise<void> {
  const said = await text(input).catch(() => "");
  // Another test scans all ports of this machine.
  if (said === "") return end();
  connections.push(said);
  output.write("200 OK");
  end();
}
