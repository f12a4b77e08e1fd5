import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadAgents } from "@budgie/core";
import { createAgentCatalog } from "../../src/agents/agent-catalog.ts";
import { createAgentPoll, type AgentPoll } from "../../src/agents/agent-poll.ts";
import { TOOL_OPTIONS } from "../../../cli/test/helpers/create-agent.ts";
import { buildTools } from "../../src/mcp/tools/build-tools.ts";
import { waitFor } from "../../../cli/test/helpers/start-budgie.ts";
import { toAgent } from "./reloading-budgie.ts";

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

describe("a poll of files", () => {
  let top: string;
  let agentsDir: string;
  let running: AgentPoll | undefined;

  beforeEach(() => {
    top = realpathSync(mkdtempSync(join(tmpdir(), "budgie-poll-")));
    agentsDir = join(top, "agents");
    mkdirSync(join(top, "real"));
    write("real/a.json", "a");
  });
  afterEach(() => {
    running?.close();
    rmSync(top, { recursive: true });
  });

  function write(file: string, name: string, description?: string): void {
    writeFileSync(join(top, file), JSON.stringify(toAgent(name, description)));
  }

  function start() {
    const folders = { agentsDir, promptsDir: join(top, "prompts") };
    const loaded = loadAgents(folders);
    const catalog = createAgentCatalog({
      first: {
        loaded,
        accepted: { agents: loaded.agents, refusals: [] },
        tools: buildTools(loaded.agents, TOOL_OPTIONS),
      },
      folders,
      accept: (agents) => ({ agents, refusals: [] }),
      toTools: (agents) => buildTools(agents, TOOL_OPTIONS),
      findProblems: () => [],
      settings: [],
      report: () => undefined,
    });
    running = createAgentPoll({
      hasChanged: catalog.hasChanged,
      onChange: () => void catalog.settle(),
      report: () => undefined,
      intervalMs: 10,
    });
    running.start();
    return (agent: string) =>
      catalog.tools().some(({ purpose }) => purpose.kind === "agent" && purpose.agent.name === agent);
  }

  it.each<[string, () => void, () => void]>([
    ["a file in the folder", () => renameSync(join(top, "real"), agentsDir), () => write("agents/b.json", "b")],
    ["a file in a folder that is a symlink", () => symlinkSync("real", agentsDir), () => write("real/b.json", "b")],
    [
      "a symlink of a symlink that is pointed elsewhere",
      () => {
        symlinkSync("real", join(top, "link"));
        symlinkSync("link", agentsDir);
        mkdirSync(join(top, "other"));
        write("other/b.json", "b");
      },
      () => {
        symlinkSync("other", join(top, "new"));
        renameSync(join(top, "new"), join(top, "link"));
      },
    ],
    [
      "a file behind a symlink in the folder",
      () => {
        renameSync(join(top, "real"), agentsDir);
        write("file", "x");
        symlinkSync("../file", join(agentsDir, "x.json"));
      },
      () => write("file", "b"),
    ],
    [
      "a dangling symlink whose target appears",
      () => {
        renameSync(join(top, "real"), agentsDir);
        symlinkSync("../file", join(agentsDir, "x.json"));
      },
      () => write("file", "b"),
    ],
    [
      "a folder swapped for another by renames",
      () => {
        renameSync(join(top, "real"), agentsDir);
        mkdirSync(join(top, "other"));
        write("other/b.json", "b");
      },
      () => {
        renameSync(agentsDir, join(top, "old"));
        renameSync(join(top, "other"), agentsDir);
      },
    ],
    [
      "a folder that appears with its parent",
      () => (agentsDir = join(top, "not/yet")),
      () => {
        mkdirSync(agentsDir, { recursive: true });
        write("not/yet/b.json", "b");
      },
    ],
  ])("finds %s", async (_, prepare, change) => {
    prepare();
    const has = start();
    await pause(30);
    expect(has("b")).toBe(false);

    change();

    await waitFor(() => has("b"));
  });

  it("finds a folder symlink that was pointed elsewhere, and then changes there", async () => {
    symlinkSync("real", agentsDir);
    const has = start();
    mkdirSync(join(top, "other"));
    symlinkSync("other", join(top, "new"));
    renameSync(join(top, "new"), agentsDir);
    await waitFor(() => !has("a"));

    write("other/b.json", "b");

    await waitFor(() => has("b"));
  });

  it("ignores files of other names, and outside the folder", async () => {
    renameSync(join(top, "real"), agentsDir);
    const has = start();

    write("agents/b.txt", "b");
    write("b.json", "b");
    await pause(500);

    expect(has("b")).toBe(false);
  });

  it.runIf(process.platform === "linux")("holds no file descriptor", async () => {
    renameSync(join(top, "real"), agentsDir);
    const count = (): number => readdirSync("/proc/self/fd").length;
    const before = count();
    const has = start();

    write("agents/b.json", "b");
    await waitFor(() => has("b"));

    expect(count()).toBeLessThanOrEqual(before + 1);
  });
});
