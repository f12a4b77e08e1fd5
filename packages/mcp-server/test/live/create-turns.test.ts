import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, type Runner } from "@budgie/core";
import { createStandbys, withStandby } from "@budgie/core/standby";
import { createFakeRunner } from "@budgie/testkit";
import { expect, it, onTestFinished, vi } from "vitest";
import { createScriptedAgent, POLITE } from "../../../protocols/test/acp/helpers/scripted-agent.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";
import { createTurns } from "../../src/server/create-turns.ts";

it("A sandboxed agent's directory is in the state before the agent starts, and stays there", async () => {
  const { project, start, stateDir } = createPlace();
  const readNoted = (): string => readFileSync(join(stateDir, "written-directories"), "utf8");
  const seen: string[] = [];
  const turns = await start(
    createFakeRunner(() => {
      seen.push(readNoted());
      return { stdout: "> Done." };
    }),
  );

  await turns.runTurn(() => undefined)({ agent: "coder", prompt: "x", directory: project });
  await turns.close();

  expect([seen[0], readNoted()]).toEqual([expect.stringContaining(project), expect.stringContaining(project)]);
});

it("What a program changes between its last turn and its end is on stderr when it ends", async () => {
  const { project, reports, start } = createPlace();
  const agent = createScriptedAgent(POLITE);
  const standbys = createStandbys({ idleMs: 60_000, isMemoryShort: () => false });
  const turns = await start({
    ...createFakeRunner(() => ({})),
    openSession: async (id) => withStandby({ ...agent.session, id }, standbys.open(), async () => "same"),
  });
  await turns.runTurn(() => undefined)({ agent: "program", prompt: "x", directory: project });

  mkdirSync(join(project, ".vscode"));
  writeFileSync(join(project, ".vscode/tasks.json"), "{}");
  agent.processes[0]?.agent.exit({ exitCode: 0 });

  await vi.waitFor(() =>
    expect(reports).toContainEqual(
      expect.stringMatching(/app: A process of the agent "program" changed .* after its last turn .*tasks\.json/),
    ),
  );
  await turns.close();
});

/** Creates a user with an agent of Kiro's and a program, and a project. */
function createPlace() {
  const home = mkdtempSync(join(tmpdir(), "budgie-turns-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [project, stateDir, config] = [join(home, "app"), join(home, "state"), join(home, "budgie.json")];
  for (const folder of [project, join(home, ".kiro/agents")]) mkdirSync(folder, { recursive: true });
  const coder = { name: "coder", description: "sub-agent: Codes.", prompt: "Code." };
  writeFileSync(join(home, ".kiro/agents/coder.json"), JSON.stringify(coder));
  const program = { protocol: "acp", command: "program-acp", description: "Codes." };
  writeFileSync(config, JSON.stringify({ agents: { program } }));
  const reports: string[] = [];
  const host = toSilentHost({ home, cwd: home, report: (line) => void reports.push(line) });
  return {
    project,
    reports,
    stateDir,
    start: (runner: Runner) =>
      createTurns({
        config: parseConfig({ sandbox: true, stateDir, config }, host),
        host,
        owner: createOwner({ stateDir }),
        runner: { ...runner, isolation: "container" },
      }),
  };
}
