import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServerResponse, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { createOwner, type Runner, type SandboxService } from "@budgie/core";
import { createStandbys, withStandby } from "@budgie/core/standby";
import { createFakeRunner } from "@budgie/testkit";
import { expect, it, onTestFinished, vi } from "vitest";
import { createScriptedAgent, POLITE } from "../../../protocols/test/acp/helpers/scripted-agent.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { allowAll } from "../../../cli/test/helpers/allow-servers.ts";
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

it("The requests of all agents to their servers may have 64 MiB pending together, and no byte more", async () => {
  const { allow, project, start } = createPlace();
  allow();
  const [services, addresses]: [SandboxService[], string[]] = [[], []];
  const serve = (service: SandboxService): string => `http://sandbox-${services.push(service)}`;
  const runner = createFakeRunner(({ command }) => {
    const texts = command.projections.flatMap(({ source }) => {
      return source.endsWith("coder.json") ? [readFileSync(source, "utf8")] : [];
    });
    addresses.push(/http:[^"]+\/one/.exec(texts.join(" "))?.[0] ?? "");
    return { stdout: "> Done." };
  });
  const openSession: Runner["openSession"] = async (id) => ({ ...(await runner.openSession(id)), serve });
  const turns = await start({ ...runner, openSession });
  for (let session = 0; session < 9; session += 1)
    await turns.runTurn(() => undefined)({ agent: "coder", prompt: "x", directory: project });
  const post = (number: number, bytes: number) => startPost(services[number], addresses[number], bytes);

  // A session alone may have 8 MiB.
  for (let number = 0; number < 8; number += 1)
    for (const bytes of [4 * 2 ** 20, 4 * 2 ** 20 - Number(number === 7)]) await post(number, bytes).taken;
  await post(8, 1).taken;
  const excess = post(8, 1);

  await vi.waitFor(() => expect(excess.response.statusCode).toBe(503));
  await turns.close();
});

/** Posts bytes, and never ends the message. `taken` resolves when they are read. */
function startPost(service: SandboxService | undefined, url: string | undefined, bytes: number) {
  let tell: () => void = () => undefined;
  const taken = new Promise<void>((resolve) => (tell = resolve));
  async function* read(): AsyncGenerator<Buffer, void> {
    yield Buffer.alloc(bytes);
    // A stream reads one piece ahead.
    yield Buffer.alloc(0);
    yield Buffer.alloc(0);
    tell();
    await new Promise(() => undefined);
  }
  const head = { method: "POST", url: new URL(url ?? "").pathname, headers: {} };
  const request = Object.assign(Readable.from(read()), head) as unknown as IncomingMessage;
  const response = new ServerResponse(request);
  service?.answer(request, response);
  return { taken, response };
}

/** Creates a user with an agent of Kiro's and a program, and a project. */
function createPlace() {
  const home = mkdtempSync(join(tmpdir(), "budgie-turns-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [project, stateDir, config] = [join(home, "app"), join(home, "state"), join(home, "budgie.json")];
  for (const folder of [project, join(home, ".kiro/agents")]) mkdirSync(folder, { recursive: true });
  const mcpServers = { one: { url: "http://127.0.0.1:1/" } };
  const coder = { name: "coder", description: "sub-agent: Codes.", prompt: "Code.", mcpServers };
  writeFileSync(join(home, ".kiro/agents/coder.json"), JSON.stringify(coder));
  const program = { protocol: "acp", command: "program-acp", description: "Codes." };
  writeFileSync(config, JSON.stringify({ agents: { program, coder: { mcp: { one: {} } } } }));
  const reports: string[] = [];
  const host = toSilentHost({ home, cwd: home, report: (line) => void reports.push(line) });
  return {
    project,
    reports,
    stateDir,
    /** Allows the agents' servers */
    allow: () => allowAll(home, config),
    start: (runner: Runner) =>
      createTurns({
        config: parseConfig({ sandbox: true, stateDir, config }, host),
        host,
        owner: createOwner({ stateDir }),
        runner: { ...runner, isolation: "container" },
      }),
  };
}
