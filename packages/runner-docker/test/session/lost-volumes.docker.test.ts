import type { ContainerCreateOptions } from "dockerode";
import { afterAll, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace, run, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

it.each([
  ["pruned", () => undefined],
  ["replaced by the engine, for a container that began meanwhile", recreateVolumes],
])("a session ends if its volumes were %s: no new home is silently used", async (_, replace) => {
  const docker = await testEngine();
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  const container = docker.getContainer(`budgie-session-${session.id}`);
  const { Image, HostConfig } = await container.inspect();
  await container.remove();
  for (const name of ["", "-auth"]) await docker.getVolume(`budgie-session-${session.id}${name}`).remove();
  await replace({ Image, HostConfig: { Mounts: HostConfig.Mounts } });

  await expect(run(session, place.workspace, "true")).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringMatching(/removed.*Begin a new session/),
  });
  await session.remove();
  expect((await docker.listVolumes()).Volumes.filter(({ Name }) => Name.includes(session.id))).toEqual([]);
});

async function recreateVolumes(body: ContainerCreateOptions): Promise<void> {
  const made = await (await testEngine()).createContainer(body);
  await made.remove();
}
