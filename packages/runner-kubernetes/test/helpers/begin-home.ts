import { expect } from "vitest";
import type { HomeArchive } from "@budgie/sandbox/home";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import type { PodRoots } from "../../src/sidecar/pod-roots.ts";
import type { Wire } from "../../src/wire/index.ts";
import type { FakeHold } from "./fake-hold.ts";
import { greet, runSidecar, type RunningSidecar } from "./run-sidecar.ts";

type FakeBudgie = Awaited<ReturnType<RunningSidecar["connectBudgie"]>>;

/** A home in a sidecar, and the sidecar. */
export type BegunHome = AsyncDisposable & {
  readonly home: HomeArchive;
  readonly roots: PodRoots;
  readonly wire: Wire;
  readonly hold: FakeHold;
  readonly ask: FakeBudgie["ask"];
  /** Runs a turn, in which the agent does this to its files */
  readonly runTurn: (act?: () => unknown) => Promise<void>;
};

/** Starts a sidecar, and opens its home. */
export async function beginHome(): Promise<BegunHome> {
  const running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const { ask, startTurn, wire } = await running.connectBudgie();
  return {
    home: createPodHome(() => Promise.resolve(wire)),
    roots: running.roots,
    wire,
    hold,
    ask,
    async runTurn(act = () => undefined) {
      const turn = startTurn();
      await hold.hear("S");
      hold.say("P");
      await act();
      hold.say("E", [0, 0, 0]);
      expect(await turn.last).toMatchObject({ exitCode: 0 });
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
