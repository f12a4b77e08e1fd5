import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  BudgieError,
  createOwner,
  createRunTurn,
  loadAgents,
  type EgressPolicy,
  type EgressReport,
  type Runner,
} from "@budgie/core";
import type { Protocol } from "@budgie/core/protocol";
import { createRunLog } from "@budgie/store";
import { createFakeRunner } from "@budgie/testkit";
import { createClientTools } from "../../src/mcp/calls/client-tools.ts";
import { buildTools } from "../../src/mcp/tools/build-tools.ts";
import { TOOL_OPTIONS } from "../../../cli/test/helpers/create-agent.ts";
import { createBudgieUser, toText, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

const DENIED = { host: "refused.test", port: 443, count: 3, why: "not on the allow-list" };
const REPORT: EgressReport = { allowed: [{ host: "prod.kiro.dev", port: 443, count: 2 }], denied: [DENIED] };
const EGRESS: EgressPolicy = { mode: "allowlist", hosts: [] };

/** Creates a runner whose processes return this egress report without a network. */
function createWatchedRunner(): Runner {
  const runner = createFakeRunner(() => ({}));
  return {
    ...runner,
    isolation: "container",
    async openSession(id) {
      const session = await runner.openSession(id);
      const start: typeof session.start = async (command, options) => {
        return { ...(await session.start(command, options)), egress: async () => REPORT };
      };
      return { ...session, start };
    },
  };
}

const neverAsked = () => Promise.reject(new Error("No test here asks for it."));

/** Creates the tools of a server with that runner, which writes to the user's run log. */
function createWatchedTools({ host }: BudgieUser, protocol: Protocol) {
  const { agents } = loadAgents({ agentsDir: host.agentsDir, promptsDir: join(host.home, ".kiro/sub-agents/prompts") });
  const runner = createWatchedRunner();
  const stateDir = join(host.home, ".local/state/budgie");
  const owner = createOwner({ stateDir });
  onTestFinished(() => owner.release());
  const runLog = createRunLog({ stateDir, owner, report: () => undefined });
  const runTurn = createRunTurn({
    agents: () => agents,
    runner,
    protocol,
    runLog,
    policyOf: () => ({ workspace: "rw", egress: EGRESS, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  const tools = buildTools(agents, { ...TOOL_OPTIONS, toolPrefix: "" });
  const options = {
    tools: () => tools,
    runTurn,
    health: neverAsked,
    onCall: () => undefined,
    report: undefined,
    runParallel: neverAsked,
  };
  return { runLog, clientTools: createClientTools(options) };
}

const runOnce: Protocol = async ({ directory, session }) => {
  const child = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "" });
  return { response: "Done.", file: undefined, exit: await child.exit, denied: [], warnings: [] };
};

describe("a refused host", () => {
  it("is in the answer, in the log by then, and in the suggestion", async () => {
    await using user = await createBudgieUser();
    const { runLog, clientTools } = createWatchedTools(user, runOnce);
    const input = { prompt: "Hello", directory: user.workspace };

    const answer = await clientTools.call("code-reviewer", input, {});
    const [run] = await runLog.recent({ limit: 1 });
    const suggestion = await user.run(["egress", "suggest"]);
    const allowed = await user.run(["--allow-host", "refused.test", "egress", "suggest", "--json"]);
    runLog.close();

    expect(answer?.structuredContent).toMatchObject({
      egress: REPORT,
      warnings: [expect.stringContaining("refused: refused.test:443 (3 times).")],
    });
    expect(run).toMatchObject({ agent: "code-reviewer", isolation: "container", egress: REPORT });
    expect(suggestion.stdout).toContain(
      "  --allow-host refused.test   # refused 3 times by code-reviewer; new\n" +
        "  --allow-host prod.kiro.dev  # reached 2 times by code-reviewer; allowed already: preset kiro",
    );
    expect(JSON.parse(allowed.stdout)).toMatchObject({ needed: [{ host: "refused.test", from: "--allow-host" }, {}] });
  });

  it("is named by a failure as its possible cause, and by its run", async () => {
    await using user = await createBudgieUser();
    const { runLog, clientTools } = createWatchedTools(user, async (turn) => {
      await runOnce(turn);
      throw new BudgieError("AGENT_FAILED", "It said nothing.");
    });
    const input = { prompt: "Hello", directory: user.workspace };

    const answer = await clientTools.call("code-reviewer", input, {});
    const [run] = await runLog.recent({ limit: 1 });
    runLog.close();

    expect(answer?.isError).toBe(true);
    expect(answer === undefined ? "" : toText(answer)).toMatch(
      /^AGENT_FAILED: It said nothing\. Its network policy refused: refused\.test:443 \(3 times\)\. The work may be incomplete/,
    );
    expect(answer?.structuredContent?.["egress"]).toEqual(REPORT);
    expect(run).toMatchObject({ outcome: "AGENT_FAILED", egress: REPORT });
  });
});
