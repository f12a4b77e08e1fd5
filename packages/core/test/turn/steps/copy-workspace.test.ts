import { BudgieError, createRunTurn, type Runner } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import type { Policy } from "@budgie/core/policy";
import { TurnEvents, type TurnProgress } from "../../../src/protocol/turn-events.ts";
import type { TurnRequest } from "../../../src/turn/turn-request.ts";
import type { WorkspaceCopies } from "../../../src/turn/workspace-copies.ts";
import { createFakeRunner, failureOf } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { AGENT } from "../../helpers/agent.ts";

const REPORT = { isReused: false, entries: 1, bytes: 1, leftOut: [], notes: [] };
const CHANGES = { changeId: "abc", added: 1, changed: 0, removed: 0, guarded: [], notApplicable: [] };

describe("a turn on a copy", () => {
  it("has it filled before the agent runs, and its changes collected and reported afterwards", async () => {
    const { order, reply } = await ask("copy");

    expect(order).toEqual(["prepare", "agent", "collect"]);
    expect(reply.copy).toEqual({ ...REPORT, changes: CHANGES });
  });

  it("passes on that the call wants the directory's later changes", async () => {
    expect((await ask("copy", { refresh: true })).refreshed).toEqual([true]);
  });

  it("that may only read has nothing collected", async () => {
    expect((await ask("ro-copy")).order).toEqual(["prepare", "agent"]);
  });

  it("has its changes collected even if the agent fails", async () => {
    const { error, order } = await fail(ask("copy", { fails: true }));

    expect(order).toEqual(["prepare", "agent", "collect"]);
    expect(error.report.copy).toMatchObject({ changes: CHANGES });
  });

  it("tells what takes long", async () => {
    const { phases } = await ask("copy");

    expect(phases).toContainEqual(expect.objectContaining({ phase: "starting", doing: "copying" }));
  });

  it("is refused by a runner without copies", async () => {
    const { error, order } = await fail(ask("copy", { hasCopies: false }));

    expect([error.code, order]).toEqual(["INPUT_INVALID", []]);
  });
});

describe("a turn on the directory itself", () => {
  it.each(["rw", "ro"] as const)("with the workspace %j has no copy", async (workspace) => {
    const { order, reply } = await ask(workspace);

    expect([order, reply.copy]).toEqual([["agent"], undefined]);
  });
});

describe("a turn that shares a base with others", () => {
  it.each([
    ["rw", ["prepare", "agent", "collect"]],
    ["copy", ["prepare", "agent", "collect"]],
    ["ro", ["agent"]],
  ] as const)("works on a copy of it if it may write, as with %j", async (workspace, expected) => {
    const sharedBase = { over: new AbortController().signal };

    const { bases, order } = await ask(workspace, { sharedBase });

    expect(order).toEqual(expected);
    expect(bases).toEqual(workspace === "ro" ? [] : [sharedBase]);
  });

  it("is refused without copies, unless it asks to read only", async () => {
    const { error } = await fail(ask("rw", { hasCopies: false, sharedBase: { over: new AbortController().signal } }));

    expect(error).toMatchObject({ code: "INPUT_INVALID", message: expect.stringContaining('"workspace" as "ro"') });
  });
});

type Asked = Pick<TurnRequest, "refresh" | "sharedBase"> & { readonly fails?: boolean; readonly hasCopies?: boolean };
const orders = new WeakMap<object, string[]>();

async function fail(turn: Promise<unknown>) {
  const error = await failureOf(turn);
  return { error, order: orders.get(error) ?? [] };
}

async function ask(
  workspace: Policy["workspace"],
  { fails = false, hasCopies = true, refresh, sharedBase }: Asked = {},
) {
  const bases: unknown[] = [];
  const refreshed: unknown[] = [];
  const order: string[] = [];
  const phases: TurnProgress[] = [];
  const events = new TurnEvents();
  events.on("phase", (phase) => void phases.push(phase));
  const copies: WorkspaceCopies = {
    async prepare(_copy, { onProgress, refresh: isWanted, sharedBase: base }) {
      bases.push(base);
      refreshed.push(isWanted);
      order.push("prepare");
      onProgress?.("copying");
      return REPORT;
    },
    async collect() {
      order.push("collect");
      return CHANGES;
    },
  };
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner: hasCopies ? withCopies() : { ...createFakeRunner(() => ({})), isolation: "container" },
    protocol: async ({ session }) => {
      const child = await session.start(
        { argv: ["agent"], env: {}, projections: [] },
        { directory: import.meta.dirname },
      );
      order.push("agent");
      const exit = await child.exit;
      if (fails) throw new BudgieError("AGENT_FAILED", "It failed.");
      return { response: "done", file: undefined, exit, denied: [], warnings: [] };
    },
    policyOf: () => ({ workspace, egress: { mode: "none", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    copies,
  });
  try {
    const request = { agent: AGENT.name, prompt: "Look.", directory: import.meta.dirname, refresh, sharedBase };
    const reply = await runTurn(request, { events });
    return { bases, order, phases, refreshed, reply };
  } catch (error) {
    orders.set(error as object, order);
    throw error;
  }
}

function withCopies(): Runner {
  const runner = createFakeRunner(() => ({}));
  const copy = {} as WorkspaceCopy;
  return {
    ...runner,
    isolation: "container",
    openSession: async (id) => ({ ...(await runner.openSession(id)), copy: () => copy }),
  };
}
