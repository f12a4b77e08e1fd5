import { describe, expect, it } from "vitest";
import { BudgieError, createSessionId, type Agent, type ErrorCode, type RunnerSession } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { TurnEvents, type Protocol, type ProtocolTurn } from "@budgie/core/protocol";
import { createKiroAcpProtocol, createKiroProtocol, type KiroOptions } from "@budgie/protocols/kiro";
import type { CreateAcp } from "../../src/kiro/kiro-acp-protocol.ts";
import type { KiroAcpProgram } from "../../src/kiro/build-kiro-command.ts";

describe("Kiro over ACP", () => {
  it("is kiro-cli acp with the agent's name, which is the mode to check", async () => {
    expect(await programOf({ model: "claude-opus-4" })).toEqual({
      command: {
        argv: ["kiro-cli", "acp", "--agent", "reader", "--model", "claude-opus-4"],
        env: { KIRO_API_KEY: "key" },
        projections: [{ source: "/agents/reader.json", home: ".kiro/agents/reader.json" }],
        login: "kiro",
        hidden: KIRO_HIDDEN_PATHS,
      },
      permission: "deny",
      mode: "reader",
      kiro: { harness: "v2" },
    });
  });

  it("is allowed its tools only with trustAllTools", async () => {
    const { command, permission } = (await programOf({ trustAllTools: true })) ?? {};

    expect(command?.argv).toContain("--trust-all-tools");
    expect(permission).toBe("allow");
  });

  it("warns on V3 about hooks, which do not run there", async () => {
    const hooks = [{ trigger: "agentSpawn", command: "git status" }];
    const turn = { ...createTurn(), agent: { ...AGENT, hooks } };
    const warningsOf = async (options: Partial<KiroOptions>): Promise<readonly string[]> =>
      (await createKiroAcpProtocol({ ...OPTIONS, ...options }, () => async () => ANSWER)(turn)).warnings;

    expect(await warningsOf({ harness: "v3" })).toEqual([expect.stringContaining("did not run the agent's hooks")]);
    expect(await warningsOf({})).toEqual([]);
  });

  it("is asked in the words of the templates, but for no file", async () => {
    let asked = "";
    const protocol = createKiroAcpProtocol(OPTIONS, () => async ({ prompt }) => {
      asked = prompt;
      return ANSWER;
    });
    await protocol(createTurn());

    expect(asked).toMatch(/^In directory \/project, Hello\n\n\nWorking directory: \/project\n/);
    expect(asked).not.toMatch(/RESPONSE_FILE|Write your response/);
  });

  it.each<readonly [string, ErrorCode, string, Readonly<Record<string, unknown>>, ErrorCode, RegExp]>([
    ["a missing program", "COMMAND_NOT_FOUND", "", {}, "COMMAND_NOT_FOUND", /Install kiro-cli/],
    ["an agent that Kiro refuses", "AGENT_CRASHED", "it ended", { exitCode: 4 }, "AGENT_NOT_FOUND", /did not find/],
    ["a version without ACP", "AGENT_CRASHED", "unrecognized", { exitCode: 2 }, "AGENT_FAILED", /unrecognized/],
    ["another end", "AGENT_CRASHED", "panicked", { exitCode: 101 }, "AGENT_CRASHED", /panicked/],
    [
      "a flag that a harness refuses",
      "AGENT_CRASHED",
      "error: the following arguments are not supported with --agent-engine v3: --agent",
      { exitCode: 2 },
      "AGENT_FAILED",
      /not supported with --agent-engine v3: --agent\).*"kiroHarness"/,
    ],
    ["no login", "LOGIN_REQUIRED", "no login (auth, -32000)", {}, "LOGIN_REQUIRED", /kiro-cli login/],
    [
      "a used-up plan",
      "LOGIN_REQUIRED",
      "no login (monthly limit, -32000)",
      {},
      "AGENT_FAILED",
      /\(monthly limit, -32000\)/,
    ],
    ["a busy service", "AGENT_FAILED", "failed (rate limit reached)", {}, "AGENT_FAILED", /service gave up/],
    ["a cancelled turn", "CANCELLED", "rate limit reached", {}, "CANCELLED", /^rate limit reached$/],
  ])("explains %s", async (_what, ...[code, message, exit, expected, text]) => {
    const error = await failureOf(new BudgieError(code, message, { cause: { exit } }));

    expect(error).toMatchObject({ code: expected, message: expect.stringMatching(text) });
  });

  it("that asks for a login until its time is over says so", async () => {
    const timedOut = new BudgieError("TIMED_OUT", "It did not answer.");

    expect(await failureOf(timedOut, "Open this URL: https://device\n")).toMatchObject({ code: "LOGIN_REQUIRED" });
    expect(await failureOf(timedOut, "Working.\n")).toMatchObject({ code: "TIMED_OUT" });
  });
});

describe("a session of Kiro", () => {
  const acp = (): Protocol => createKiroAcpProtocol(OPTIONS, () => async () => ANSWER);
  const cli = (): Protocol => createKiroProtocol(OPTIONS);

  it("continues with the protocol that began it, in another process too", async () => {
    const files = new Map<string, string>();
    await acp()(createTurn({ files }));

    expect(await acp()(createTurn({ files, resume: true }))).toMatchObject({ response: "Done." });
  });

  it.each([
    ["cli", acp, new Map<string, string>()],
    ["acp", cli, new Map([[".budgie-protocol", "acp"]])],
  ])("is refused by the other one than %s, before a process starts", async (began, create, files) => {
    const error = await create()(createTurn({ files, resume: true })).catch((failure: unknown) => failure);

    expect(error).toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining(`was begun with the option "protocol" "${began}"`),
    });
  });

  it.each<[string, string, Partial<KiroOptions>]>([
    ["v2", "acp", { harness: "v3" }],
    ["v3", "v3 over acp", {}],
    ["v3", "v3 over acp", { harness: "v2" }],
  ])("that was begun with the harness %s (%s) is refused by the other one", async (began, mark, options) => {
    const protocol = createKiroAcpProtocol({ ...OPTIONS, ...options }, () => async () => ANSWER);
    const turn = createTurn({ files: new Map([[".budgie-protocol", mark]]), resume: true });

    await expect(protocol(turn)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining(`was begun with the option "kiroHarness" "${began}"`),
    });
  });

  it("of V3 is one for V3 again, and not for V2 without ACP", async () => {
    const files = new Map<string, string>();
    const v3 = (): Protocol => createKiroAcpProtocol({ ...OPTIONS, harness: "v3" }, () => async () => ANSWER);
    await v3()(createTurn({ files }));

    expect(await v3()(createTurn({ files, resume: true }))).toMatchObject({ response: "Done." });
    await expect(cli()(createTurn({ files, resume: true }))).rejects.toMatchObject({
      message: expect.stringContaining('"kiroHarness" "v3"'),
    });
  });

  it("is looked up once", async () => {
    const [files, protocol] = [new Map([[".budgie-protocol", "acp"]]), acp()];
    const turn = createTurn({ files, resume: true });
    await protocol(turn);
    files.clear();

    expect(await protocol(turn)).toMatchObject({ response: "Done." });
  });
});

const OPTIONS: KiroOptions = {
  binary: "kiro-cli",
  model: undefined,
  defaultModel: undefined,
  trustAllTools: false,
  prompts: { system: "/nowhere/_system.md", contextSummary: "/nowhere/_context-summary.md" },
  env: { KIRO_API_KEY: "key" },
  projections: [],
  verbose: false,
};

const AGENT: Agent = {
  name: "reader",
  description: "Reads.",
  whenToUse: "",
  file: "/agents/reader.json",
  promptFile: undefined,
  writesFiles: false,
  model: undefined,
  hasModel: false,
};

const ANSWER = {
  response: "Done.",
  file: undefined,
  exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false },
  denied: [],
  warnings: [],
};

async function programOf(options: Partial<KiroOptions>): Promise<KiroAcpProgram | undefined> {
  let program: KiroAcpProgram | undefined;
  const create: CreateAcp = ({ toProgram }) => {
    return async (turn) => {
      program = await toProgram(turn);
      return ANSWER;
    };
  };
  await createKiroAcpProtocol({ ...OPTIONS, ...options }, create)(createTurn());
  return program;
}

/** Returns the failure of a turn whose protocol fails after it printed something. */
async function failureOf(error: BudgieError, stderr = ""): Promise<unknown> {
  const protocol = createKiroAcpProtocol(OPTIONS, () => async ({ events }) => {
    events.emit("output", Buffer.from(stderr), "stderr");
    throw error;
  });
  return protocol(createTurn()).catch((failure: unknown) => failure);
}

function createTurn({ files = new Map<string, string>(), resume = false } = {}): ProtocolTurn {
  const session: RunnerSession = {
    id: createSessionId(),
    paths: (directory) => ({ workspace: directory, home: "/home/agent" }),
    start: () => Promise.reject(new Error("No process starts here.")),
    readFile: async (name) => files.get(name),
    appendFile: async (name, text) => void files.set(name, (files.get(name) ?? "") + text),
    remove: async () => undefined,
  };
  const events = new TurnEvents();
  const asked = { agent: AGENT, directory: "/project", prompt: "Hello", timeoutMs: 60_000, signal: undefined };
  return { ...asked, session, resume, events };
}
