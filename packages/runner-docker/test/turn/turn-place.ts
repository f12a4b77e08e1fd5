import { createKiroProtocol } from "@budgie/protocols/kiro";
import { createRunTurn, loadAgents, type RunTurn, type Runner } from "@budgie/core";
import { createHostHome } from "@budgie/testkit";
import type { OpenRoot } from "@budgie/sandbox/proc";
import { createDockerPlace, KIRO_IMAGE, testEngine } from "../helpers/docker-place.ts";

/** budgie's core on the engine, for a host's user with the stand-in for kiro-cli. */
export type TurnPlace = AsyncDisposable & {
  readonly runTurn: RunTurn;
  readonly runner: Runner;
  readonly workspace: string;
  /** Names of this place's containers and volumes on the engine */
  readonly traces: () => Promise<readonly string[]>;
  /** Pauses the container of the only turn without budgie */
  readonly pauseTurn: () => Promise<void>;
};

type TurnPlaceOptions = {
  readonly hostEnv: NodeJS.ProcessEnv;
  readonly egress?: "none" | "allowlist";
  readonly timeoutMs?: number;
  /** Default: through `/proc` */
  readonly openRoot?: OpenRoot;
};

/** Creates the place. Disposing it closes its runner and removes it. */
export async function createTurnPlace(options: TurnPlaceOptions): Promise<TurnPlace> {
  const { egress = "none", hostEnv, openRoot, timeoutMs = 60_000 } = options;
  const place = createDockerPlace();
  const host = await createHostHome();
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir, hostEnv }, { openRoot });
  const { agents } = loadAgents({ agentsDir: host.agentsDir, promptsDir: host.agentsDir });
  const protocol = createKiroProtocol({
    binary: "kiro-cli",
    model: undefined,
    defaultModel: undefined,
    trustAllTools: false,
    prompts: { system: `${host.home}/none`, contextSummary: `${host.home}/none` },
    env: {},
    projections: [],
    verbose: false,
  });
  return {
    runner,
    workspace: place.workspace,
    runTurn: createRunTurn({
      agents: () => agents,
      runner,
      protocol,
      policyOf: () => ({ workspace: "rw", egress: { mode: egress, hosts: [] }, limits: {}, timeoutMs }),
      workspaceRules: { allowedRoots: [], guarded: undefined },
      retryDelayMs: 20,
    }),
    traces: () => listTracesOf(place.stateDir),
    async pauseTurn() {
      const turn = (await listTracesOf(place.stateDir)).find((name) => name.startsWith("budgie-turn-"));
      await (await testEngine()).getContainer(turn ?? "").pause();
    },
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

async function listTracesOf(stateDir: string): Promise<readonly string[]> {
  const docker = await testEngine();
  const ours = { filters: { label: ["dev.budgie"] } };
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, ...ours }),
    docker.listVolumes(ours),
  ]);
  const all = [
    ...containers.map(({ Labels, Names }) => ({ name: Names[0]?.slice(1) ?? "?", labels: Labels })),
    ...Volumes.map(({ Labels, Name }) => ({ name: Name, labels: Labels })),
  ];
  return all.filter(({ labels }) => labels["dev.budgie.lock"]?.startsWith(stateDir)).map(({ name }) => name);
}
