import { describe } from "vitest";
import { describeAccess } from "./runner-contract/describe-access.ts";
import { describeEnding } from "./runner-contract/describe-ending.ts";
import { describeHome } from "./runner-contract/describe-home.ts";
import { describeKeeping } from "./runner-contract/describe-keeping.ts";
import { describeOwnership } from "./runner-contract/describe-ownership.ts";
import { describeRunning } from "./runner-contract/describe-running.ts";
import { describeStreams } from "./runner-contract/describe-streams.ts";
import type { RunnerSetup } from "./runner-contract/runner-setup.ts";

/** The specification of `Runner`: the same cases for every runner, told in commands that need `/bin/sh` and coreutils only. */
export function describeRunner(name: string, setup: RunnerSetup): void {
  describe(`the ${name} runner`, () => {
    describeRunning(setup);
    describeAccess(setup);
    describeStreams(setup);
    describeEnding(setup);
    describeHome(setup);
    describeOwnership(setup);
    describeKeeping(setup);
  });
}
