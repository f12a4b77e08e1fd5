import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, describe, expect, it } from "vitest";
import { callForProgress } from "../mcp/connection/call-for-progress.ts";
import { countOverlap } from "../../../cli/test/helpers/count-overlap.ts";
import { createBudgieUser, toText, waitFor, type Budgie } from "../../../cli/test/helpers/start-budgie.ts";

const CALLS = 200;
const CAP = 4;
const PATIENCE_MS = 100_000;
const ARGS = ["--max-concurrent", String(CAP), "--max-queued", String(CALLS - CAP)];

describe("200 calls at once", () => {
  let flood: Awaited<ReturnType<typeof callAll>>;
  beforeAll(async () => void (flood = await callAll()), 240_000);

  it("are each answered with their own answer", () => {
    expect(flood.answers.map(toText)).toEqual(Array.from({ length: CALLS }, (_, number) => `answer ${number}`));
  });

  it("run as many agents at once as the limit, and never more", () => {
    expect({ atOnce: countOverlap(flood.log), processes: flood.mostProcesses }).toEqual({
      atOnce: CAP,
      processes: CAP,
    });
  });

  it("have one more refused before any of them is answered", () => {
    expect(flood.refused.structuredContent).toMatchObject({
      code: "QUEUE_FULL",
      message: expect.stringContaining(
        `${CALLS - CAP} turns wait, the most that "maxQueued" of --config allows, and ${CAP} run.`,
      ),
    });
    expect(flood.answeredBefore).toBe(0);
  });

  it("are each told their place, which only improves, and that they run", () => {
    const told = flood.told.map((each) => each.map(({ message = "" }) => message));
    const places = told.map((messages) =>
      messages.flatMap((message) => /, (\d+)/.exec(message)?.[1] ?? []).map(Number),
    );

    expect(told.every((messages) => messages.at(-1)?.startsWith("shell-worker: running"))).toBe(true);
    // Simultaneous calls are checked concurrently, and may overtake each other before the queue.
    const firsts = places.flatMap(([first]) => first ?? []);
    expect(firsts.toSorted((a, b) => a - b)).toEqual(upTo(CALLS - CAP));
    expect(places).toEqual(places.map((each) => each.toSorted((a, b) => b - a)));
    expect(flood.told).toEqual(flood.told.map((each) => each.map((one, index) => ({ ...one, progress: index + 1 }))));
  });

  it("take little memory, and much if their prompts are large", async () => {
    const heavy = await holdAll("x".repeat(1_000_000));

    expect(flood.growth).toBeLessThan(2);
    expect(heavy).toBeGreaterThan(2);
  }, 120_000);
});

/** Makes all calls at once, and one more when all but four wait; then opens the gate. */
async function callAll() {
  await using user = await createBudgieUser();
  const [log, gate] = [join(user.workspace, "log"), join(user.workspace, "gate")];
  const budgie = await user.start({ args: ARGS });
  const call = callForProgress(budgie, user.workspace);
  for (let turn = 0; turn < 8; turn++) await call("Warm up.").answer;
  const warmBytes = toPeakBytes(budgie);
  using processes = watchChildren(budgie);

  const calls = Array.from({ length: CALLS }, (_, number) => call(toGated(`answer ${number}`)));
  await waitFor(() => calls.every(({ told }) => told.length > 0), PATIENCE_MS);
  await waitFor(() => existsSync(log) && countOverlap(readFileSync(log, "utf8")) === CAP, PATIENCE_MS);
  const refused = await call(toGated("one too many")).answer;
  const answeredBefore = calls.filter(({ isOver }) => isOver()).length;
  writeFileSync(gate, "");
  const answers = await Promise.all(calls.map(({ answer }) => answer));

  return {
    answers,
    answeredBefore,
    refused,
    log: readFileSync(log, "utf8"),
    told: calls.map(({ told }): readonly Progress[] => told),
    mostProcesses: processes.most(),
    growth: toPeakBytes(budgie) / warmBytes,
  };
}

/** Lets this many calls wait, each with a ballast in its prompt, and returns the peak memory as a multiple of a warm budgie's. */
async function holdAll(ballast: string): Promise<number> {
  await using user = await createBudgieUser();
  const budgie = await user.start({ args: [...ARGS, "--max-prompt-bytes", "0"] });
  const call = callForProgress(budgie, user.workspace);
  for (let turn = 0; turn < 8; turn++) await call("Warm up.").answer;
  const warmBytes = toPeakBytes(budgie);

  const calls = Array.from({ length: CALLS }, () => call(`${toGated("x")}${ballast}`));
  for (const { answer } of calls) answer.catch(() => undefined);
  await waitFor(() => calls.every(({ told }) => told.length > 0), PATIENCE_MS);
  return toPeakBytes(budgie) / warmBytes;
}

/** Returns a prompt whose agent records that it runs, and continues when the gate opens. */
function toGated(answer: string): string {
  return `[[run: echo + >> log; until test -e gate; do sleep 0.1; done; echo - >> log]][[say: ${answer}]]`;
}

function toPeakBytes({ child }: Budgie): number {
  const [, kiB] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  return 1024 * Number(kiB);
}

/** Counts budgie's running child processes again and again. */
function watchChildren({ child }: Budgie): Disposable & { readonly most: () => number } {
  const tasks = `/proc/${child.pid}/task`;
  let most = 0;
  const looking = setInterval(() => {
    const children = readdirSync(tasks).map((thread) => readFileSync(join(tasks, thread, "children"), "utf8"));
    most = Math.max(most, children.join(" ").split(" ").filter(Boolean).length);
  }, 20);
  return { most: () => most, [Symbol.dispose]: () => clearInterval(looking) };
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
