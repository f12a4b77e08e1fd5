import { describe } from "vitest";
import { describeAccess } from "./describe-access.ts";
import { describeEnding } from "./describe-ending.ts";
import { describeHome } from "./describe-home.ts";
import { describeHomeFiles } from "./describe-home-files.ts";
import { describeKeeping } from "./describe-keeping.ts";
import { describeOwnership } from "./describe-ownership.ts";
import { describePrinting } from "./describe-printing.ts";
import { describeRunning } from "./describe-running.ts";
import { describeStreams } from "./describe-streams.ts";
import type { RunnerSetup } from "./runner-setup.ts";

/** Describes the contract of `Runner`: the same cases for every runner, with commands of `/bin/sh` and coreutils only. */
export function describeRunner(name: string, setup: RunnerSetup): void {
  describe(`the ${name} runner`, () => {
    describeRunning(setup);
    describeAccess(setup);
    describeStreams(setup);
    describeEnding(setup);
    describeHome(setup);
    describeHomeFiles(setup);
    describeOwnership(setup);
    describeKeeping(setup);
    describePrinting(setup);
  });
}
