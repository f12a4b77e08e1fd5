import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { TurnEvents, type ProtocolTurn } from "@budgie/core/protocol";
import type { UsageReport } from "@budgie/core/runs";
import { createKiroProtocol, type KiroOptions } from "@budgie/protocols/kiro";
import { createFakeRunner, type FakeEnd, type FakeProgram, type FakeRun } from "@budgie/testkit";
import { AGENT } from "../../../core/test/helpers/agent.ts";

const MARKER = "\u001B[38;5;141m> \u001B[0m";
const PRINTED = { stdout: `${MARKER}Printed.\n` };
const CREDITS = "\n ▸ Credits: 0.01 • Time: 1s\n";
const FALLBACK = 'warning: agent "tester" not found, using "kiro_default"\n';

describe("the Kiro protocol", () => {
  it("gives the second run the rest of the turn's time, and uses the printed text after a timeout", async () => {
    const tookMs: number[] = [];
    const timed = async (run: FakeRun): Promise<FakeEnd> => {
      const began = performance.now();
      const end = await program(run);
      tookMs.push(performance.now() - began);
      return end;
    };
    const program = inOrder(sleeping(1500), hanging);

    const answer = await ask(timed, { timeoutMs: 2000 });

    expect(answer).toMatchObject({ response: "Printed.", exit: { exitCode: 0 } });
    expect(tookMs).toHaveLength(2);
    expect(tookMs[1]).toBeLessThan(tookMs[0] ?? 0);
  });

  it("uses the printed text when the second run crashes", async () => {
    const crash: FakeProgram = () => ({ exit: { signal: "SIGSEGV" } });

    expect(await ask(inOrder(() => PRINTED, crash))).toMatchObject({
      response: "Printed.",
      warnings: ["The agent wrote no answer file, so this answer was read from its output."],
    });
  });

  it("fails when the second run was cancelled", async () => {
    const abort = new AbortController();
    const cancelled: FakeProgram = async ({ stopped }) => {
      abort.abort();
      return { exit: { signal: "SIGTERM", reason: await stopped } };
    };

    const answer = ask(
      inOrder(() => PRINTED, cancelled),
      { signal: abort.signal },
    );
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("fails when another agent wrote the answer file in the second run", async () => {
    const answer = ask(inOrder(() => PRINTED, answering("Forged.", { stderr: FALLBACK })));

    await expect(answer).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  it("fails when the agent finished twice without an answer", async () => {
    const finished: FakeProgram = () => ({ stderr: "\n ▸ Credits: 0.01 • Time: 1s\n" });

    await expect(ask(inOrder(finished, finished))).rejects.toMatchObject({
      code: "AGENT_FAILED",
      message: 'The agent "tester" finished its turn and said nothing. Ask it again.',
    });
  });

  it.each([
    ["answers in its second run", answering("Now.", { stderr: CREDITS }), {}],
    ["fails", () => ({ stderr: CREDITS }), {}],
    ["is no longer the one that was called", () => ({ stderr: `${FALLBACK}${CREDITS}` }), {}],
    ["was given another model", answering("Now.", { stderr: CREDITS }), { model: "m1" }],
  ] as const)("tells the credits of both runs of an agent that %s", async (_how, second: FakeProgram, options) => {
    const told: UsageReport[] = [];
    const events = new TurnEvents().on("usage", (report) => void told.push(report));
    const first: FakeProgram = () => ({ stderr: CREDITS });

    await ask(inOrder(first, second), { events, options }).catch(() => undefined);

    expect(told).toEqual([
      { ...options, credits: 0.01 },
      { ...options, credits: 0.02 },
    ]);
  });

  it("treats an empty answer file as missing", async () => {
    expect(await ask(inOrder(answering(" \n", PRINTED), answering("Now.")))).toMatchObject({ response: "Now." });
  });

  it("ignores a late file of an earlier turn", async () => {
    const late: FakeProgram = ({ writeFile }) => {
      writeFile(`response-${createSessionId()}.txt`, "Old.");
      return PRINTED;
    };

    expect(await ask(inOrder(late, () => ({})))).toMatchObject({ response: "Printed." });
  });

  it("removes NUL characters from the prompt, which a runner may not accept", async () => {
    const { runs } = await askAndWatch(answering("x"), { prompt: "a\0b" });

    expect(runs[0]?.options.input).toMatch(/^In directory \/, ab\n/);
  });

  it("warns of a killed tool, and of truncated output", async () => {
    const big = "x".repeat(4 * 1024 * 1024 + 1);

    expect(await ask(answering("Fine.", { stdout: big, exit: { oomKilled: true } }))).toMatchObject({
      response: "Fine.",
      warnings: [
        "A process of the agent was killed for memory; the answer may be incomplete.",
        "The agent printed 4,194,305 bytes; its middle was dropped.",
      ],
    });
  });

  it("mounts the agent's own files in the sandbox, and those that every agent may read", async () => {
    const steering = { source: "/home/me/.kiro/steering", home: ".kiro/steering" };
    const { runs } = await askAndWatch(answering("x"), { agent: AGENT, options: { projections: [steering] } });

    expect(runs[0]?.command).toMatchObject({
      login: "kiro",
      projections: [steering, { source: "/agents/tester.json", home: ".kiro/agents/tester.json" }],
    });
  });

  it.each([
    ["/agents/prompts/tester.md", ".kiro/agents/prompts/tester.md"],
    ["/agents/..tester.md", ".kiro/agents/..tester.md"],
    ["/prompts/tester.md", undefined],
    ["/agents-of-others/tester.md", undefined],
  ])("mounts the prompt file %s where the agent looks for it", async (promptFile, home) => {
    const { runs } = await askAndWatch(answering("x"), { agent: { ...AGENT, promptFile } });

    expect(runs[0]?.command.projections.at(-1)).toEqual({ source: promptFile, home });
  });

  it("says in a reply, and in an error, which of the agent's files a sandbox does not show", async () => {
    const agent = { ...AGENT, named: [{ uri: "file://~/role.md", path: "~/role.md", of: "prompt" }] } as const;
    const warnings = [expect.stringContaining('"file://~/role.md" (it is not below ~/.kiro)')];
    const inSandbox = { agent, options: { sandboxHome: "/home/me" } };
    const missing: FakeProgram = () => ({ ...PRINTED, stderr: FALLBACK });

    expect(await ask(answering("x"), inSandbox)).toMatchObject({ warnings });
    expect(await ask(answering("x"), { agent })).toMatchObject({ warnings: [] });
    await expect(ask(missing, inSandbox)).rejects.toMatchObject({ code: "AGENT_NOT_FOUND", report: { warnings } });
  });
});

const OPTIONS: KiroOptions = {
  binary: "kiro-cli",
  model: undefined,
  defaultModel: undefined,
  trustAllTools: false,
  prompts: { system: "/no/such/file", contextSummary: "/no/such/file" },
  env: {},
  projections: [],
  verbose: false,
};

type Asking = Partial<Pick<ProtocolTurn, "agent" | "events" | "prompt" | "signal" | "timeoutMs">> & {
  options?: Partial<KiroOptions>;
};

async function ask(program: FakeProgram, asking: Asking = {}) {
  return (await askAndWatch(program, asking)).answer;
}

async function askAndWatch(program: FakeProgram, { options = {}, ...turn }: Asking = {}) {
  const runner = createFakeRunner(program);
  const session = await runner.openSession(createSessionId());
  const protocol = createKiroProtocol({ ...OPTIONS, ...options });
  const asked = { agent: AGENT, prompt: "x", directory: "/", resume: false, timeoutMs: 10_000, signal: undefined };
  return { answer: await protocol({ ...asked, session, events: new TurnEvents(), ...turn }), runs: runner.runs };
}

function inOrder(...programs: readonly FakeProgram[]): FakeProgram {
  const rest = [...programs];
  return (run) => {
    const program = rest.shift();
    if (program === undefined) throw new Error("There was one run too many.");
    return program(run);
  };
}

function answering(text: string, end: Awaited<ReturnType<FakeProgram>> = {}): FakeProgram {
  return ({ options, writeFile }: FakeRun) => {
    writeFile(/response-\S+\.txt/.exec(options.input ?? "")?.[0] ?? "", text);
    return end;
  };
}

function sleeping(ms: number): FakeProgram {
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return PRINTED;
  };
}

const hanging: FakeProgram = async ({ stopped }) => ({ exit: { signal: "SIGKILL", reason: await stopped } });
