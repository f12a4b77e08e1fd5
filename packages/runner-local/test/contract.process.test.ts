import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeRunner } from "@budgie/testkit";
import { afterAll } from "vitest";
import { createLocalPlace, findProcesses } from "./helpers/local-place.ts";

const place = createLocalPlace();
afterAll(() => place[Symbol.asyncDispose]());

describeRunner("local", {
  async create(options) {
    const { runner, owner } = place.createRunner([], options);
    return {
      runner,
      workspaceRoot: place.workspace,
      die: () => owner.release(),
      async [Symbol.asyncDispose]() {
        await runner.close();
        await owner.release();
      },
    };
  },
  async leftovers(id) {
    const stored = [join(place.sessionsDir, id), join(place.stateDir, "local-sessions", `${id}.json`)];
    return { running: findProcesses(id), stored: stored.filter((path) => existsSync(path)) };
  },
  startsIn: "home",
});
