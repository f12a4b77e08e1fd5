import { text } from "node:stream/consumers";
import type { RunnerSession } from "@budgie/core";
import { watchApi } from "./watch-api.ts";
import { readCopy, type FaultCluster, type FaultRunner } from "./fault-cluster.ts";

/** Sessions that are each held at a stage of a turn. */
export type HeldStages = AsyncDisposable & {
  readonly runner: FaultRunner;
  /** Begins a turn, and resolves once it is at the stage, where it stays */
  readonly hold: (stage: Stage) => Promise<void>;
  /** Lets all that is held get lost, as with the API server */
  readonly lose: () => void;
  /** Resolves to the answer of a stage's turn; see {@link runTurn} */
  readonly answerOf: (stage: Stage) => Promise<string>;
  /** Runs a turn in the stage's session, and removes that; resolves to all that the turn said and wrote */
  readonly runTurn: (stage: Stage) => Promise<string>;
};

export type Stage = keyof typeof STAGES;

const FILLED = "end file fill";
/** The stages of a turn, by what passes the API server in each for the first time. */
export const STAGES = {
  "asks for a Pod": is("POST"),
  "has a Pod of which it was not told": is("answer to POST"),
  // The runner's words end this one, and not what passes.
  "waits for its Pod": () => false,
  "opens the wire": is("exec"),
  "greets its Pod": is("open control hello"),
  "proves the walls": is("open turn"),
  "fills the copy": is("open file fill"),
  "starts the agent": isAgents("open turn"),
  "hears the agent": isAgents("data turn"),
  "hears of the agent's end": isAgents("end turn"),
  "reads the copy": is("open file pack"),
  "removes its Pod": is("DELETE"),
  "has removed its Pod and was not told": is("answer to DELETE"),
} as const;

/** The answer of a turn of which nothing was lost or done twice. */
export const ANSWER = "numbers\nonce\n0 turns: once\n";
// More than budgie and the Pod hold of an output that waits.
const SCRIPT = 'read -r word; echo "$word" >> turns; seq 300000; cat turns';
const NUMBERS = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join("");

function is(wanted: string) {
  return (what: string): boolean => what === wanted;
}

/** The processes before the first fill are those of the proof. */
function isAgents(wanted: string) {
  return (what: string, before: readonly string[]): boolean => what === wanted && before.includes(FILLED);
}

type Held = {
  readonly session: RunnerSession;
  readonly answer: Promise<string>;
  readonly reach: () => void;
  readonly isAt: (what: string, before: readonly string[]) => boolean;
  readonly before: string[];
  isHeld: boolean;
};

/** Creates a runner whose way to the API server is watched. */
export async function holdStages(cluster: FaultCluster): Promise<HeldStages> {
  const all = new Map<string, Held>();
  let lose: () => void = () => undefined;
  const lost = new Promise<false>((resolve) => (lose = () => resolve(false)));
  const api = await watchApi(cluster.server.kubeconfig, async ({ pod, what }) => {
    const held = [...all.values()].find(({ session }) => pod.startsWith(`budgie-${session.id.slice(0, 8)}-`));
    if (held === undefined || held.isHeld) return true;
    held.before.push(what);
    if (!held.isAt(what, held.before)) return true;
    held.isHeld = true;
    held.reach();
    return lost;
  });
  const runner = await cluster.createRunner({ kubeconfig: api.kubeconfig });

  async function runTurn(session: RunnerSession): Promise<string> {
    const child = await cluster.start(session, SCRIPT, "once\n");
    const [said, { exitCode }] = await Promise.all([text(child.stdout), child.exit]);
    const files = await readCopy(session);
    await session.remove();
    return `${said.replace(NUMBERS, "numbers\n")}${exitCode} ${files}`;
  }

  return {
    runner,
    lose,
    async hold(stage) {
      const session = await runner.openSession();
      let reach: () => void = () => undefined;
      const reached = new Promise<void>((resolve) => (reach = resolve));
      if (stage === "waits for its Pod") session.hearWaits?.(reach);
      const answer = Promise.resolve().then(() => runTurn(session));
      all.set(stage, { session, answer, reach, isAt: STAGES[stage], before: [], isHeld: false });
      // A turn that failed before shall not be waited for.
      await Promise.race([reached, answer]);
    },
    answerOf: (stage) => (all.get(stage) as Held).answer,
    runTurn: (stage) => runTurn((all.get(stage) as Held).session),
    async [Symbol.asyncDispose]() {
      lose();
      await runner[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}
