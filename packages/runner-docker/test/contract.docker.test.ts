import { describeRunner } from "@budgie/testkit";
import { afterAll } from "vitest";
import { createDockerPlace, testEngine } from "./helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

describeRunner("docker", {
  async create(options) {
    const { owner, runner } = await place.createRunner(options);
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
    const docker = await testEngine();
    const filters = { label: [`dev.budgie.session=${id}`] };
    const [containers, { Volumes }] = await Promise.all([
      docker.listContainers({ filters }),
      docker.listVolumes({ filters }),
    ]);
    return { running: containers.map(({ Id }) => Id), stored: Volumes.map(({ Name }) => Name) };
  },
  startsIn: "workspace",
});
