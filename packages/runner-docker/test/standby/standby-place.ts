import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type Docker from "dockerode";
import { expect } from "vitest";
import { createSessionId, type Command, type Runner, type RunnerSession, type StartOptions } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import type { DockerRunnerOptions } from "../../src/docker-runner.ts";
import { createDockerPlace, runCommand, testEngine, type DockerPlace, type Ran } from "../helpers/docker-place.ts";
import { createEngineProxy, type EngineProxy } from "../helpers/engine-proxy.ts";

/** A runner that keeps containers ready for next turns, on an engine whose calls are recorded. */
export type StandbyTestPlace = AsyncDisposable & {
  readonly docker: Docker;
  readonly place: DockerPlace;
  readonly proxy: EngineProxy;
  readonly runner: Runner;
  /** Opens a session, by default of the place's runner, with a workspace of its own. */
  openSession(runner?: Runner): Promise<OpenSession>;
  /** Counts the calls so far that create a turn's container. */
  countCreations(): number;
};

export type OpenSession = AsyncDisposable & {
  readonly session: RunnerSession;
  readonly workspace: string;
  run(script: string, options?: Partial<StartOptions>): Promise<Ran>;
  /** Waits for the container of the next turn, and returns its id. */
  untilWaiting(): Promise<string>;
};

/** A policy with which turns join the session's network. */
export const ALLOWLIST = { workspace: "rw", egress: { mode: "allowlist", hosts: [] }, limits: {} } as const;

/** Creates the place. */
export async function createStandbyTestPlace(
  options: Pick<DockerRunnerOptions, "ahead" | "warmIdleMs"> = { ahead: 4 },
): Promise<StandbyTestPlace> {
  const place = createDockerPlace();
  const [proxy, docker] = await Promise.all([createEngineProxy(), testEngine()]);
  const { runner } = await place.createRunner({ ...options, hostEnv: proxy.hostEnv });
  return {
    docker,
    place,
    proxy,
    runner,
    async openSession(of = runner) {
      const session = await of.openSession(createSessionId());
      const workspace = join(await mkdtemp(join(place.root, "open-")), "workspace");
      await mkdir(workspace);
      return {
        session,
        workspace,
        run(script, options) {
          const command: Command = { argv: ["sh", "-c", script], env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS };
          return runCommand(session, command, { directory: workspace, ...options });
        },
        async untilWaiting() {
          await expect.poll(() => of.ahead?.count().turns, { timeout: 10_000 }).toBe(1);
          const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"], status: ["running"] };
          const found = await docker.listContainers({ filters });
          expect(found).toHaveLength(1);
          return found[0]?.Id ?? "";
        },
        [Symbol.asyncDispose]: () => session.remove(),
      };
    },
    countCreations: () =>
      proxy.requestLines().filter((line) => line.includes("/containers/create?name=budgie-turn-")).length,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
